/* The OASIS step of Eq. 8 and 11 on sparse rows, for benchmarks/speed/oasis.py to compare with. */
#include <stddef.h>
#include <stdint.h>

static size_t merge_difference(const float *data, const uint32_t *indices, const uint64_t *indptr,
                               size_t plus, size_t minus, uint64_t *where, float *values,
                               float *squares) {
    size_t a = indptr[plus], a_end = indptr[plus + 1];
    size_t b = indptr[minus], b_end = indptr[minus + 1];
    size_t count = 0;
    float sum = 0;
    while (a < a_end || b < b_end) {
        uint32_t index;
        float value;
        if (b >= b_end || (a < a_end && indices[a] < indices[b])) {
            index = indices[a];
            value = data[a++];
        } else if (a >= a_end || indices[b] < indices[a]) {
            index = indices[b];
            value = -data[b++];
        } else {
            index = indices[a];
            value = data[a++] - data[b++];
        }
        if (value != 0) {
            where[count] = index;
            values[count++] = value;
            sum += value * value;
        }
    }
    *squares = sum;
    return count;
}

void oasis_steps(float *W, size_t width, const float *data, const uint32_t *indices,
                 const uint64_t *indptr, const uint32_t *triplets, size_t steps, float C,
                 uint64_t *where, float *values) {
    for (size_t t = 0; t < steps; t++) {
        size_t begin = indptr[triplets[3 * t]], end = indptr[triplets[3 * t] + 1];
        float squares, score = 0, own = 0;
        size_t count = merge_difference(data, indices, indptr, triplets[3 * t + 1],
                                        triplets[3 * t + 2], where, values, &squares);
        for (size_t a = begin; a < end; a++) {
            const float *row = W + indices[a] * width;
            float product = 0;
            for (size_t b = 0; b < count; b++) product += row[where[b]] * values[b];
            score += data[a] * product;
            own += data[a] * data[a];
        }
        float loss = 1 - score, norm = own * squares;
        if (loss > 0 && norm > 0) {
            float tau = loss / norm < C ? loss / norm : C;
            for (size_t a = begin; a < end; a++) {
                float *row = W + indices[a] * width;
                float step = tau * data[a];
                for (size_t b = 0; b < count; b++) row[where[b]] += step * values[b];
            }
        }
    }
}
