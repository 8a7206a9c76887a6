//! Units of what is measured.

/// Tenths of a degree Fahrenheit in tenths of a degree Celsius, rounded towards zero.
pub fn celsius(fahrenheit: i32) -> i32 {
    (fahrenheit - 320) * 5 / 9
}

#[cfg(test)]
mod tests {
    use super::celsius;

    #[test]
    fn water_freezes() {
        assert_eq!(celsius(320), 0);
    }
}
