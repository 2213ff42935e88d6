#include "core/tiles.h"

#include "core/threads.h"

enum {
    WIDE_PANELS = 16,   /* columns of a tile, in panels, where that still leaves TILES_A_THREAD for each thread */
    NARROW_PANELS = 2,  /* and at the least */
    TILES_A_THREAD = 4,
};

void tiles_run(const Matmul *p, int panel_width, TileFunction *tile, const void *operands)
{
    const int n_panels = (p->n + panel_width - 1) / panel_width, enough = TILES_A_THREAD * threads_count();
    const int rows = p->m >= enough * TILE_ROWS ? TILE_ROWS : TILE_ROWS / 2, row_tiles = (p->m + rows - 1) / rows;
    /* Wide tiles convert and load A less often; more of them share out better. No element's bits depend on the cut. */
    int panels = (int)((long)row_tiles * n_panels / enough);
    panels = panels > WIDE_PANELS ? WIDE_PANELS : panels < NARROW_PANELS ? NARROW_PANELS : panels;
    const int column_tiles = (n_panels + panels - 1) / panels;
#pragma omp parallel for schedule(dynamic, 1) if (row_tiles * column_tiles > 1)
    for (int t = 0; t < row_tiles * column_tiles; t++) {
        int i0 = t % row_tiles * rows, i1 = i0 + rows < p->m ? i0 + rows : p->m;
        int p0 = t / row_tiles * panels, p1 = p0 + panels < n_panels ? p0 + panels : n_panels;
        tile(p, operands, i0, i1, p0, p1);
    }
}
