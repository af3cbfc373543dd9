// The example's kernels for GPUs, in OpenCL C. cuda.h makes CUDA C of the same text. A block
// has BLOCK work-items; T is the type of the elements, float or half, which are computed with
// as floats.

// The parameters of device.Strided(x), for x of four axes: a, b, c and d.
#define VIEW(x) global const T *x, long x##_at, long x##_a, long x##_b, long x##_c, long x##_d, long x##_by_a, long x##_by_b, long x##_by_c, long x##_by_d

// total returns the sum of v of all work-items.
FUNCTION float total(local float *shared, float v) {
	int i = get_local_id(0);
	shared[i] = v;
	for (int n = BLOCK / 2; n > 0; n /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (i < n) {
			shared[i] += shared[i + n];
		}
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	v = shared[0];
	barrier(CLK_LOCAL_MEM_FENCE);
	return v;
}

// largest returns the maximum of v of all work-items.
FUNCTION float largest(local float *shared, float v) {
	int i = get_local_id(0);
	shared[i] = v;
	for (int n = BLOCK / 2; n > 0; n /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (i < n) {
			shared[i] = fmax(shared[i], shared[i + n]);
		}
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	v = shared[0];
	barrier(CLK_LOCAL_MEM_FENCE);
	return v;
}

// y [rows,columns] = x [rows,inner] times w [inner,columns], of any strides. A block has ROWS rows
// of x, and COLUMNS of w, each of which LANES work-items go down.
KERNEL void matmul(global T *y, global const T *x, global const T *w, long at, long inner, long columns, long down, long right, int rows) {
	SHARED(float, shared, ROWS * BLOCK);
	int i = get_local_id(0), lane = i % LANES;
	long column = get_group_id(0) * COLUMNS + i / LANES, first = get_group_id(1) * ROWS;
	float sums[ROWS] = {0};
	if (column < columns) {
		for (long k = lane; k < inner; k += LANES) {
			float by = LOAD(w, at + k * down + column * right);
			for (int r = 0; r < ROWS; r++) {
				if (first + r < rows) {
					sums[r] += by * LOAD(x, (first + r) * inner + k);
				}
			}
		}
	}
	for (int r = 0; r < ROWS; r++) {
		shared[r * BLOCK + i] = sums[r];
	}
	for (int n = LANES / 2; n > 0; n /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (lane < n) {
			for (int r = 0; r < ROWS; r++) {
				shared[r * BLOCK + i] += shared[r * BLOCK + i + n];
			}
		}
	}
	if (lane == 0 && column < columns) {
		for (int r = 0; r < ROWS && first + r < rows; r++) {
			STORE(y, (first + r) * columns + column, shared[r * BLOCK + i]);
		}
	}
}

// y = x over the root of the mean of its squares, times scale. A block has a row.
KERNEL void norm(global T *y, global const T *x, global const T *scale, int width, float epsilon) {
	SHARED(float, shared, BLOCK);
	long row = (long)get_group_id(0) * width;
	float squares = 0;
	for (int i = get_local_id(0); i < width; i += BLOCK) {
		float v = LOAD(x, row + i);
		squares += v * v;
	}
	float by = 1 / sqrt(total(shared, squares) / width + epsilon);
	for (int i = get_local_id(0); i < width; i += BLOCK) {
		STORE(y, row + i, LOAD(x, row + i) * by * LOAD(scale, i));
	}
}

// y = x with the approximation of GELU by a hyperbolic tangent.
KERNEL void gelu(global T *y, global const T *x, int n) {
	int i = get_group_id(0) * BLOCK + get_local_id(0);
	if (i < n) {
		float v = LOAD(x, i);
		STORE(y, i, v / (1 + exp(-1.5957691216f * v * (1 + 0.044715f * v * v))));
	}
}

KERNEL void add(global T *y, global const T *a, global const T *b, int n) {
	int i = get_group_id(0) * BLOCK + get_local_id(0);
	if (i < n) {
		STORE(y, i, LOAD(a, i) + LOAD(b, i));
	}
}

// y = x + by, for positions.
KERNEL void advance(global long *y, global const long *x, global const long *by, int n) {
	int i = get_group_id(0) * BLOCK + get_local_id(0);
	if (i < n) {
		y[i] = x[i] + by[0];
	}
}

// y [batch,heads,1,width] is the mean of the first values of a sequence, as many as its length,
// weighted by their keys' likeness to the query. A block has a head of a sequence, and goes
// through BLOCK keys at a time: weights are relative to the largest likeness up to there.
KERNEL void attention(global T *y, VIEW(q), VIEW(k), VIEW(v), global const long *lengths, float scale) {
	SHARED(float, shared, BLOCK);
	SHARED(float, query, BLOCK);
	SHARED(float, weights, BLOCK);
	int i = get_local_id(0), width = (int)q_d;
	long head = get_group_id(0), sequence = get_group_id(1), length = lengths[sequence];
	long keys = k_at + sequence * k_by_a + head * k_by_b, values = v_at + sequence * v_by_a + head * v_by_b;
	if (length > k_c) {
		length = k_c;
	}
	if (i < width) {
		query[i] = scale * LOAD(q, q_at + sequence * q_by_a + head * q_by_b + i * q_by_d);
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	float most = -INFINITY, sum = 0, mixed = 0;
	for (long first = 0; first < length; first += BLOCK) {
		float likeness = -INFINITY;
		if (first + i < length) {
			likeness = 0;
			for (int d = 0; d < width; d++) {
				likeness += query[d] * LOAD(k, keys + (first + i) * k_by_c + d * k_by_d);
			}
		}
		float before = most;
		most = fmax(most, largest(shared, likeness));
		float weight = exp(likeness - most), shrunk = exp(before - most);
		weights[i] = weight;
		sum = sum * shrunk + total(shared, weight);
		if (i < width) {
			mixed *= shrunk;
			for (int j = 0; j < BLOCK && first + j < length; j++) {
				mixed += weights[j] * LOAD(v, values + (first + j) * v_by_c + i * v_by_d);
			}
		}
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (i < width) {
		STORE(y, (sequence * q_b + head) * width + i, mixed / sum);
	}
}

// y is the index of the first of the largest elements of a row. A block has a row.
KERNEL void argmax(global long *y, global const T *x, int columns) {
	SHARED(float, values, BLOCK);
	SHARED(int, indices, BLOCK);
	int i = get_local_id(0);
	long row = (long)get_group_id(0) * columns;
	values[i] = -INFINITY, indices[i] = columns;
	for (int k = i; k < columns; k += BLOCK) {
		float v = LOAD(x, row + k);
		if (v > values[i] || indices[i] == columns) {
			values[i] = v, indices[i] = k;
		}
	}
	for (int n = BLOCK / 2; n > 0; n /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (i < n && (values[i + n] > values[i] || (values[i + n] == values[i] && indices[i + n] < indices[i]))) {
			values[i] = values[i + n], indices[i] = indices[i + n];
		}
	}
	if (i == 0) {
		y[get_group_id(0)] = indices[0];
	}
}
