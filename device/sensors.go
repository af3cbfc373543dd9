package device

// Sensors is implemented by devices whose driver reports the current state of the hardware.
type Sensors interface {
	// Readings asks them. A missing value is not an error: see Readings.
	Readings() Readings
}

// Readings are the values of a device's sensors, each 0 if unknown.
type Readings struct {
	MHz       int // the clock of the cores
	MemoryMHz int // the clock of the memory
	Celsius   int
	Watts     float64
	// HeldBack says why the clocks are lower than they could be (throttling), as "power cap". It
	// is empty if nothing holds them back, and nil if unknown.
	HeldBack []string
}
