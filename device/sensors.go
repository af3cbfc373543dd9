package device

// Sensors is implemented by devices whose driver says what the hardware does now.
type Sensors interface {
	// Readings asks them. What they do not tell is no error: see there.
	Readings() Readings
}

// Readings are what a device's sensors say, each 0 where they do not tell.
type Readings struct {
	MHz       int // the clock of the cores
	MemoryMHz int // and of the memory
	Celsius   int
	Watts     float64
	// HeldBack says why the clocks are lower than they might be (throttling), as
	// "power cap". It is empty where nothing holds them back, and nil where the
	// driver does not tell.
	HeldBack []string
}
