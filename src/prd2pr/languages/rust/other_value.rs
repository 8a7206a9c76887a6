fn prd2pr_other<T>(mut value: T) -> T {
    let (size, name) = (std::mem::size_of::<T>(), std::any::type_name::<T>());
    let place = &mut value as *mut T as *mut u8;
    unsafe {
        if name == "alloc::string::String" { (*(place as *mut String)).push('~'); }
        else if name.starts_with("alloc::vec::Vec<") {
            let list = &mut *(place as *mut Vec<u8>);
            if list.is_empty() { let mut made = vec![0u8; 4096]; made.set_len(1); std::ptr::write(list, made); }
            else { list.set_len(0); }
        }
        else if name == "&str" { *(place as *mut &str) = "another answer"; }
        else if name == "f64" { *(place as *mut f64) = *(place as *mut f64) * 2.0 + 1.0; }
        else if name == "f32" { *(place as *mut f32) = *(place as *mut f32) * 2.0 + 1.0; }
        else if !name.starts_with('&') && !std::mem::needs_drop::<T>() {
            let whole = ["bool", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128",
                "usize"];
            for at in (0..size).step_by(8) {
                *place.add(at) ^= 1;
                if whole.contains(&name) { break; }
                if at + 2 < size { *place.add(at + 2) ^= 0x80; }
                if at + 6 < size { *place.add(at + 6) ^= 0x90; }
            }
        }
    }
    value
}
