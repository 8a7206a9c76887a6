use station::unit::celsius;

#[test]
fn water_boils() {
    assert_eq!(celsius(2120), 1000);
}
