// Package route knows where the ferry goes.
package route

var prices = map[[2]string]int{
	{"Nes", "Oye"}:  450,
	{"Oye", "Vika"}: 725,
}

// Price of a crossing in cents, in either direction; false where the ferry does not go.
func Price(from, to string) (int, bool) {
	if cents, found := prices[[2]string{from, to}]; found {
		return cents, true
	}
	cents, found := prices[[2]string{to, from}]
	return cents, found
}
