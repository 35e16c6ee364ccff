/* Random forests and rows through the kernel, against a descent of each row by itself.
 *
 * Every array has exactly the bytes that it needs, so that a sanitizer sees the first one beyond.
 * Half of the forests have their splits overwritten at random: those that the kernel's check lets
 * pass must score like any other.
 *
 *     fuzz SECONDS SEED
 */

#define LEAP_STAMP 0
#include "../layers/leap_model/kernel/kernel.c"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t state;

static uint64_t draw(uint64_t below) { /* xorshift64* */
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (state * 0x2545F4914F6CDD1DULL >> 11) % below;
}

static void *take(size_t bytes) {
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        abort();
    return memory;
}

static double edge_of(uint64_t at) { return (double)at - 8; }

static double value(void) {
    static const double odd[] = {0.0, -0.0, 0.5, 254.5, 255, 256, 1e300, -1e300, 5e-324};
    switch (draw(8)) {
    case 0: return NAN;
    case 1: return INFINITY;
    case 2: return -INFINITY;
    case 3: return odd[draw(sizeof odd / sizeof *odd)];
    case 4: return nextafter(edge_of(draw(40)), draw(2) ? INFINITY : -INFINITY);
    case 5: return (double)draw(257);
    default: return edge_of(draw(40));
    }
}

static void put_node(uint8_t *nodes, int wide, uint64_t at, uint32_t question, uint32_t left) {
    if (wide) {
        memcpy(nodes + 8 * at, &question, 4);
        memcpy(nodes + 8 * at + 4, &left, 4);
    } else {
        nodes[3 * at] = question & 0xFF;
        nodes[3 * at + 1] = question >> 8 & 0xFF;
        nodes[3 * at + 2] = left & 0xFF;
    }
}

/* Splits of a tree in preorder, each parting its leaves somewhere. */
static uint64_t grow(uint8_t *nodes, int wide, uint64_t at, uint32_t leaves, uint32_t questions) {
    if (leaves < 2)
        return at;
    uint32_t left = 1 + (uint32_t)draw(draw(4) ? leaves - 1 : 1);
    put_node(nodes, wide, at, (uint32_t)draw(questions), left);
    at = grow(nodes, wide, at + 1, left, questions);
    return grow(nodes, wide, at, leaves - left, questions);
}

static Forest random_forest(void) {
    Forest f = {0};
    f.n_inputs = 1 + draw(6);
    f.n_outputs = 1 + draw(5);
    f.n_trees = draw(40);
    f.wide = draw(4) == 0;
    uint32_t runs = (uint32_t)draw(2 * f.n_inputs + 1), edges = 0;
    uint32_t *first_edge = take(4 * (runs + 1)), *run_column = take(4 * runs);
    first_edge[0] = 0;
    for (uint32_t run = 0; run < runs; run++) {
        edges += 1 + (uint32_t)draw(20);
        first_edge[run + 1] = edges;
        run_column[run] = (uint32_t)draw(2 * f.n_inputs);
    }
    double *edge = take(8 * edges);
    for (uint32_t run = 0; run < runs; run++)
        for (uint32_t at = first_edge[run], step = (uint32_t)draw(9); at < first_edge[run + 1];
             at++, step += 1 + (uint32_t)draw(3))
            edge[at] = edge_of(step);
    f.n_runs = runs, f.n_edges = edges;
    f.first_edge = first_edge, f.run_column = run_column, f.edges = edge;

    f.n_categories = draw(4);
    uint32_t *column = take(4 * f.n_categories), *codes = take(4 * f.n_categories);
    for (uint64_t at = 0; at < f.n_categories; at++) {
        column[at] = (uint32_t)draw(f.n_inputs);
        codes[at] = (uint32_t)draw(257);
    }
    f.category_column = column, f.category_codes = codes;

    uint32_t *first_leaf = take(4 * (f.n_trees + 1)), *first_set = take(4 * (f.n_trees + 1));
    uint32_t *output = take(4 * f.n_trees);
    /* In half of the forests every tree is small enough to be scored by question. */
    uint32_t most_of_all = draw(2) ? draw(2) ? 32 : 64 : 0;
    first_leaf[0] = first_set[0] = 0;
    for (uint64_t tree = 0; tree < f.n_trees; tree++) {
        uint32_t sets = f.n_categories ? (uint32_t)draw(6) : 0;
        uint32_t most = most_of_all ? most_of_all : draw(5) ? 40 : f.wide ? 600 : 256;
        first_leaf[tree + 1] =
            first_leaf[tree] + 1 + (edges + sets ? (uint32_t)draw(most) : 0);
        first_set[tree + 1] = first_set[tree] + sets;
        output[tree] = (uint32_t)draw(f.n_outputs);
    }
    f.first_leaf = first_leaf, f.first_set = first_set, f.output = output;

    uint32_t n_sets = first_set[f.n_trees], *set_at = take(4 * n_sets), bytes = 0;
    uint8_t *sets = take(n_sets * 35);
    for (uint32_t set = 0; set < n_sets; set++) {
        uint32_t category = (uint32_t)draw(f.n_categories);
        set_at[set] = bytes;
        sets[bytes++] = (uint8_t)category, sets[bytes++] = 0;
        for (uint32_t at = 0; at <= codes[category] >> 3; at++)
            sets[bytes++] = (uint8_t)draw(256);
    }
    f.sets = memcpy(take(bytes), sets, bytes), f.set_at = set_at, f.set_bytes = bytes;
    free(sets);

    uint64_t leaves = first_leaf[f.n_trees], splits = leaves - f.n_trees, at = 0;
    uint8_t *nodes = take(f.wide ? 8 * splits : 3 * splits + 1);
    double *leaf = take(8 * leaves), *baseline = take(8 * f.n_outputs);
    for (uint64_t tree = 0; tree < f.n_trees; tree++)
        at = grow(nodes, (int)f.wide, at, first_leaf[tree + 1] - first_leaf[tree],
                  edges + first_set[tree + 1] - first_set[tree]);
    for (uint64_t n = 0; n < leaves; n++)
        leaf[n] = (double)draw(1u << 30) / 7;
    for (uint64_t n = 0; n < f.n_outputs; n++)
        baseline[n] = (double)draw(1000) / 3;
    if (splits && draw(2))
        for (uint64_t times = 1 + draw(3); times; times--)
            nodes[draw(splits * (f.wide ? 8 : 3))] = (uint8_t)draw(draw(2) ? 4 : 256);
    f.nodes = nodes, f.leaves = leaf, f.baseline = baseline;
    return f;
}

/* By question, as the library has them sorted. */
static void sort(Forest *f, uint32_t largest) {
    uint64_t splits = f->first_leaf[f->n_trees] - f->n_trees;
    uint64_t questions = f->n_edges + f->n_categories;
    f->first_asked = take(4 * (questions + 1));
    f->asked_tree = take(2 * splits), f->asked_keeps = take(8 * splits);
    uint32_t *places = take(4 * (questions + 2)), *pending = take(4 * 2 * 64);
    uint32_t *set_at = take(4 * splits), words = 0;
    leap_sort(f, set_at, places, pending);
    f->first_side = take(4 * (f->n_categories + 1));
    for (uint64_t at = 0; at < f->n_categories; at++) {
        const uint32_t *first = f->first_asked + f->n_edges + at;
        f->first_side[at] = words;
        words += (first[1] - first[0] + 31) / 32 * (f->category_codes[at] + 1);
    }
    f->first_side[f->n_categories] = words;
    f->sides = take(4 * words);
    leap_write_sides(f, set_at);
    f->lane_bits = largest <= 32 ? 32 : 64;
    free(places), free(pending), free(set_at);
}

static void let_go(Forest f) {
    const void *parts[] = {f.baseline, f.first_leaf, f.first_set, f.output, f.edges, f.first_edge,
                           f.run_column, f.category_column, f.category_codes, f.set_at, f.sets,
                           f.nodes, f.leaves, f.first_asked, f.asked_tree, f.asked_keeps,
                           f.first_side, f.sides};
    for (size_t at = 0; at < sizeof parts / sizeof *parts; at++)
        free((void *)(uintptr_t)parts[at]);
}

static int goes_left(const Forest *f, uint64_t tree, uint32_t question, const double *row) {
    if (question < f->n_edges) {
        uint64_t run = 0;
        while (f->first_edge[run + 1] <= question)
            run++;
        double v = row[f->run_column[run] >> 1];
        return isnan(v) ? (int)(f->run_column[run] & 1) : v <= f->edges[question];
    }
    const uint8_t *set = f->sets + f->set_at[f->first_set[tree] + question - f->n_edges];
    uint32_t category = set[0] | (uint32_t)set[1] << 8, codes = f->category_codes[category];
    double v = row[f->category_column[category]];
    uint32_t code = v >= 0 && v < codes && v == floor(v) ? (uint32_t)v : codes;
    return set[2 + code / 8] >> code % 8 & 1;
}

static void score_by_row(const Forest *f, const double *row, double *scores) {
    memcpy(scores, f->baseline, 8 * f->n_outputs);
    for (uint64_t tree = 0; tree < f->n_trees; tree++) {
        uint64_t leaf = f->first_leaf[tree], split = leaf - tree;
        uint32_t leaves = f->first_leaf[tree + 1] - f->first_leaf[tree];
        while (leaves > 1) {
            uint32_t question, left;
            read_node(f, (int)f->wide, split, &question, &left);
            if (goes_left(f, tree, question, row)) {
                split += 1, leaves = left;
            } else {
                split += left, leaf += left, leaves -= left;
            }
        }
        scores[f->output[tree]] += f->leaves[leaf];
    }
}

int main(int count, char **words) {
    if (count != 3)
        return 2;
    time_t end = time(0) + atol(words[1]);
    state = strtoull(words[2], 0, 10) * 2 + 1;
    uint64_t forests = 0, refused = 0, rows_in_all = 0;
    while (time(0) < end) {
        Forest f = random_forest();
        uint32_t largest = 1;
        for (uint64_t tree = 0; tree < f.n_trees; tree++)
            if (f.first_leaf[tree + 1] - f.first_leaf[tree] > largest)
                largest = f.first_leaf[tree + 1] - f.first_leaf[tree];
        uint32_t *pending = take(4 * largest);
        forests++;
        if (!leap_splits_are_sound(&f, pending)) {
            refused++;
        } else {
            uint64_t rows = draw(3) ? draw(30) : draw(200);
            double *matrix = take(8 * rows * f.n_inputs), *by_row = take(8 * f.n_outputs);
            double *scores = take(8 * rows * f.n_outputs);
            if (largest <= 64 && draw(4))
                sort(&f, largest);
            uint8_t *memory = take(leap_scratch_bytes(&f));
            for (uint64_t at = 0; at < rows * f.n_inputs; at++)
                matrix[at] = at >= f.n_inputs && draw(2) ? matrix[at - f.n_inputs] : value();
            leap_score(&f, matrix, rows, scores, memory);
            for (uint64_t row = 0; row < rows; row++) {
                score_by_row(&f, matrix + row * f.n_inputs, by_row);
                if (memcmp(by_row, scores + row * f.n_outputs, 8 * f.n_outputs)) {
                    printf("forest %lu of seed %s: row %lu differs\n", (unsigned long)forests,
                           words[2], (unsigned long)row);
                    fflush(stdout);
                    _Exit(1); /* what it holds is not the fault */
                }
            }
            rows_in_all += rows;
            free(matrix), free(by_row), free(scores), free(memory);
        }
        free(pending);
        let_go(f);
    }
    printf("%lu forests, %lu of them refused, %lu rows: all alike\n", (unsigned long)forests,
           (unsigned long)refused, (unsigned long)rows_in_all);
    return 0;
}
