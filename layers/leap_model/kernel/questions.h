/* What the rows of a block answer. A set of rows is a word of 64 bits. */

/* The rows that hold one of four codes beside each other, for every choice of the four: a set holds
 * a bit a code, so that four of its bits choose. */
typedef struct {
    uint64_t rows[16];
    uint32_t byte, shift; /* where a set has the four bits */
} Fours;

/* How many of ascending edges lie below a value; none below what is no number. */
INLINE uint32_t edges_below(const double *edges, uint32_t count, double value) {
    const double *first = edges;
    while (count > 16) { /* a few are counted sooner than they are searched */
        uint32_t half = count / 2;
        first += known(first[half - 1] < value) * half;
        count -= half;
    }
    uint64_t below = 0;
    for (uint32_t at = 0; at < count; at++)
        below += first[at] < value;
    return (uint32_t)(first - edges) + (uint32_t)below;
}

/* The first edge of a run that sends a value left; as many as there are where none does. */
INLINE uint32_t turning_edge(
    const Forest *forest, uint64_t run, const double *edges, uint32_t count, double value
) {
    uint32_t missing = forest->run_column[run] & 1 ? 0 : count;
    uint32_t below = edges_below(edges, count, value), is = -(uint32_t)known(value == value);
    return (below & is) | (missing & ~is);
}

/* varies: n_inputs, not 0 where the rows differ in a column. */
static void find_varying(const Forest *forest, uint64_t *varies, const double *rows, uint32_t n) {
    uint64_t inputs = forest->n_inputs;
    for (uint64_t column = 0; column < inputs; column++)
        varies[column] = 0;
    const Bits *first = (const Bits *)rows;
    for (uint32_t row = 1; row < n; row++) {
        const Bits *other = first + row * inputs;
        for (uint64_t column = 0; column < inputs; column++)
            varies[column] |= first[column] ^ other[column];
    }
}

/* The code that a set holds a bit for: a whole number below `codes`, or `codes` for all else. */
INLINE uint64_t code_of(double value, uint64_t codes) {
    if (!(value >= 0 && value < 256))
        return codes;
    uint64_t code = (uint64_t)value;
    return (double)code == value && code < codes ? code : codes;
}

/* The fours that the rows hold of a category; gives how many. */
static uint32_t find_fours(
    const Forest *forest, uint64_t category, const double *rows, uint32_t n, Fours *fours
) {
    const double *value = rows + forest->category_column[category];
    uint32_t held = 0;
    for (uint32_t row = 0; row < n; row++, value += forest->n_inputs) {
        uint64_t code = code_of(*value, forest->category_codes[category]);
        uint32_t byte = 2 + (uint32_t)(code >> 3), shift = code & 4, at = 0;
        while (at < held && (fours[at].byte != byte || fours[at].shift != shift))
            at++;
        if (at == held) {
            fours[held++] = (Fours){{0}, byte, shift};
        }
        fours[at].rows[1 << (code & 3)] |= (uint64_t)1 << row;
    }
    for (uint32_t at = 0; at < held; at++)
        for (uint32_t choice = 3; choice < 16; choice++) {
            uint64_t *of = fours[at].rows;
            of[choice] = of[choice & (choice - 1)] | of[choice & -choice];
        }
    return held;
}

/* The rows that a set sends left. */
INLINE uint64_t left_of_set(const uint8_t *set, const Fours *fours, uint32_t held) {
    uint64_t left = 0;
    for (uint32_t at = 0; at < held; at++)
        left |= fours[at].rows[set[fours[at].byte] >> fours[at].shift & 15];
    return left;
}
