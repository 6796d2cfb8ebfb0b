package changepoint

// A piece is the scatter of consecutive values around their mean.
type piece struct {
	length              int
	mean                float64
	squares, neighbours float64 // see [newNoise]
}

// A running holds the sums from which the scatter of the first values of a level follows at once.
type running struct {
	base float64 // subtracted from each value, so that large values lose no digits
	x    []float64
	// Each slice has one entry for the first 0, 1, 2 ... values.
	sum, squares, products []float64
	least, most            []float64 // one entry for the first 1, 2 ... values
}

// newRunning returns the sums of values.
func newRunning(values []float64) running {
	r := running{}
	for _, v := range values {
		r.add(v)
	}
	return r
}

func (r *running) add(value float64) {
	n := len(r.x)
	if n == 0 {
		r.base = value
		r.sum, r.squares, r.products = []float64{0}, []float64{0}, []float64{0}
		r.least, r.most = []float64{value}, []float64{value}
	} else {
		r.least = append(r.least, min(value, r.least[n-1]))
		r.most = append(r.most, max(value, r.most[n-1]))
	}
	v := value - r.base
	product := 0.0
	if n > 0 {
		product = v * r.x[n-1]
	}
	r.x = append(r.x, v)
	r.sum = append(r.sum, r.sum[n]+v)
	r.squares = append(r.squares, r.squares[n]+v*v)
	r.products = append(r.products, r.products[n]+product)
}

// between returns the scatter of the values between two indexes.
func (r *running) between(from, to int) piece {
	n := float64(to - from)
	sum := r.sum[to] - r.sum[from]
	mean := sum / n
	p := piece{length: to - from, mean: r.base + mean}
	p.squares = max(0, r.squares[to]-r.squares[from]-sum*mean)
	// The sum of (x[i] - mean) (x[i-1] - mean), multiplied out.
	p.neighbours = r.products[to] - r.products[from+1] -
		mean*(2*sum-r.x[from]-r.x[to-1]) + (n-1)*mean*mean
	return p
}
