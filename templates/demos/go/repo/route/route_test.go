package route

import "testing"

func TestPriceIsTheSameBothWays(t *testing.T) {
	for _, way := range [][2]string{{"Nes", "Oye"}, {"Oye", "Nes"}} {
		if cents, found := Price(way[0], way[1]); !found || cents != 450 {
			t.Errorf("Price(%q, %q) = %d, %v", way[0], way[1], cents, found)
		}
	}
}

func TestPriceOfNowhere(t *testing.T) {
	if _, found := Price("Nes", "Mars"); found {
		t.Error("the ferry does not go to Mars")
	}
}
