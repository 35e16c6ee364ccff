/* What a score works in: memory comes from the caller, and only from it. */

#define TREES 32
/* Rows that quickscorer.h asks one after the other; more, side by side. */
#define FEW 8

/* Rows that reached a node. `place` is its tree's splits and leaves from there on, the split in the
 * low half and the leaf in the high; `size` is how many leaves there are, and in the high half the
 * tree: so a child is one addition away. */
typedef struct {
    uint64_t rows, place, size;
} Group;

/* What a group's split says: the rows that its question sends left, and how many leaves are there. */
typedef struct {
    uint64_t left, leaves;
} Split;

/* A group whose question is by category. */
typedef struct {
    uint32_t group, question;
} Asked;

/* Splits that follow each other by question, send the same rows left, and not all or none. */
typedef struct {
    uint64_t left, first;
} Span;

/* A split that tells apart rows that come to it. */
typedef struct {
    uint64_t keeps, left, tree;
} Parting;

/* Lanes, one a row and tree: four of 64 bits, or eight of 32. Twice what a register of the least
 * processor holds: it is faster there as well. */
typedef uint32_t Lanes __attribute__((vector_size(32), aligned(8)));
typedef uint32_t __attribute__((may_alias)) Lane;

typedef struct {
    uint64_t *varies; /* n_inputs: not 0 where the rows differ in a column */
    double *sums;     /* n_outputs of ROWS */
    /* of a descent */
    uint32_t *held; /* n_categories: how many fours the rows hold */
    Fours *fours;   /* n_categories of ROWS */
    uint64_t *left; /* n_edges + 1: the rows that a question by number sends left */
    double *values; /* TREES of ROWS */
    Group *groups;  /* TREES * ROWS + 1, as all that follow */
    Group *next;
    Group *arrived; /* groups that reached a leaf */
    Split *splits;  /* of the groups */
    Asked *asked;
    /* of quickscorer.h, where the forest has its splits by question */
    uint64_t *alive;    /* n_trees: the leaves that a row may still come to */
    uint64_t *turning;  /* n_edges + 1: the rows that an edge is the first to send left */
    Span *spans;        /* n_edges + n_runs + 1 */
    Parting *partings;  /* splits + 1 */
    uint64_t *lefts;    /* splits + 31: the rows that each split of a category sends left */
    Lanes *lanes;       /* n_trees of ROWS */
    uint64_t *own;      /* n_trees of FEW: what `alive` is, for each of a few rows */
} Scratch;

INLINE uint64_t lay_out(const Forest *forest, Scratch *scratch, uint8_t *memory) {
    uint64_t at = 0, trees = forest->lane_bits ? forest->n_trees : 0;
    uint64_t splits = forest->lane_bits ? forest->first_leaf[trees] - trees : 0;
    uint64_t edges = forest->lane_bits ? forest->n_edges : 0;
#define TAKE(member, count)                                                                        \
    do {                                                                                           \
        scratch->member = (void *)((uintptr_t)memory + at);                                        \
        at += ((count) * sizeof *scratch->member + 63) / 64 * 64;                                  \
    } while (0)
    TAKE(varies, forest->n_inputs);
    TAKE(sums, forest->n_outputs * ROWS);
    TAKE(held, forest->n_categories);
    TAKE(fours, forest->n_categories * ROWS);
    TAKE(left, forest->n_edges + 1);
    TAKE(values, (uint64_t)TREES * ROWS);
    TAKE(groups, (uint64_t)TREES * ROWS + 1);
    TAKE(next, (uint64_t)TREES * ROWS + 1);
    TAKE(arrived, (uint64_t)TREES * ROWS + 1);
    TAKE(splits, (uint64_t)TREES * ROWS + 1);
    TAKE(asked, (uint64_t)TREES * ROWS + 1);
    TAKE(alive, trees);
    TAKE(turning, edges + 1);
    TAKE(spans, edges + forest->n_runs + 1);
    TAKE(partings, splits + 1);
    TAKE(lefts, splits + 31);
    TAKE(lanes, trees * ROWS * forest->lane_bits / 256);
    TAKE(own, trees * FEW);
#undef TAKE
    return at;
}
