/* A forest as the caller lays it out: leap_model/trees.py says what each part means. */

#include <stdint.h>

#define ROWS 64
#define APART static __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))
#define EXPORTED __attribute__((visibility("default")))

typedef uint64_t __attribute__((may_alias)) Bits;

typedef struct {
    uint64_t n_inputs, n_outputs, n_trees, n_edges, n_runs, n_categories, set_bytes, wide;
    const double *baseline;
    const uint32_t *first_leaf, *first_set, *output;
    const double *edges;
    const uint32_t *first_edge, *run_column;
    const uint32_t *category_column, *category_codes;
    const uint32_t *set_at;
    const uint8_t *sets, *nodes;
    const double *leaves;
    /* The splits by question, which leap_sort makes of small trees: see quickscorer.h. */
    uint64_t lane_bits; /* 32 or 64, as many as a tree has leaves; 0 where there are none */
    uint32_t *first_asked;
    uint16_t *asked_tree;
    uint64_t *asked_keeps;
    uint32_t *first_side, *sides;
} Forest;

/* A truth that is worked out and not guessed: a compiler may make no branch of what is not known to
 * it to be 0 or 1. */
INLINE uint64_t known(int truth) {
    uint64_t word = (uint64_t)truth;
    __asm__("" : "+r"(word));
    return word;
}

INLINE uint64_t low(uint64_t word) { return word & 0xFFFFFFFF; }

INLINE uint64_t high(uint64_t word) { return word >> 32; }

INLINE uint64_t word_of(uint64_t lower, uint64_t upper) { return lower | upper << 32; }

INLINE uint64_t first_bits(uint64_t count) {
    return count < 64 ? ((uint64_t)1 << count) - 1 : ~(uint64_t)0;
}

INLINE void read_node(
    const Forest *forest, int wide, uint64_t split, uint32_t *question, uint32_t *left_leaves
) {
    if (wide) {
        const uint32_t *node = (const uint32_t *)forest->nodes + 2 * split;
        *question = node[0];
        *left_leaves = node[1];
    } else { /* the fourth byte is the next node's, or padding */
        uint32_t node;
        __builtin_memcpy(&node, forest->nodes + 3 * split, 4);
        *question = node & 0xFFFF;
        *left_leaves = node >> 16 & 0xFF;
    }
}

/* A set: two bytes of the category column's number, then a bit a code, then one for missing. */
INLINE const uint8_t *set_of(const Forest *forest, uint64_t tree, uint32_t question) {
    return forest->sets + forest->set_at[forest->first_set[tree] + question - forest->n_edges];
}

INLINE uint64_t category_of(const uint8_t *set) { return set[0] | (uint64_t)set[1] << 8; }
