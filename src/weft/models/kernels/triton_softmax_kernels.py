"""The passes of `triton_softmax`, which describes what each of them computes."""
# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-def,untyped-decorator"
# mypy: allow-untyped-calls

from __future__ import annotations

import triton
import triton.language as tl

from weft.models.kernels.triton_softmax_parts import (
    DKV,
    DQ,
    FORWARD,
    LARGEST,
    TUNED,
    add_rows,
    bias_of_keys,
    bias_of_near,
    bias_of_queries,
    clear_dq,
    configs_of,
    head_at,
    is_seen,
    key_range,
    origin_of,
    put_near,
    put_rows,
    query_range,
    read_numbers,
    read_rows,
)


@triton.jit
def _attend(
    acc, highest, total, q, K, V, k_l, v_l, sums, slope, table, origin, start, rows, first, low,
    high, length, factor,
    COLS: tl.constexpr, DK: tl.constexpr, DV: tl.constexpr, NEAR: tl.constexpr,
    MASKED: tl.constexpr, EVEN: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """The forward pass over keys from `low` to `high`."""
    ENDS: tl.constexpr = MASKED and not EVEN
    for col in tl.range(low, high, COLS):
        cols = col + tl.arange(0, COLS)
        k = read_rows(K, cols, k_l, length, DK, ENDS)
        scores = tl.dot(q, tl.trans(k), input_precision=PRECISION) * factor
        if sums is not None or slope is not None:
            c = None
            if sums is not None:
                c = read_numbers(sums, cols, length, float("inf"), ENDS)
            scores += bias_of_keys(c, slope, cols, origin, start)[None, :]
        if MASKED:
            if table is not None:
                scores += bias_of_near(table, rows, cols, NEAR)
            scores = tl.where(is_seen(rows, cols, first), scores, float("-inf"))
        higher = tl.maximum(highest, tl.max(scores, 1))
        shift = tl.where(higher > float("-inf"), higher, 0.0)
        weights = tl.exp2(scores - shift[:, None])
        fading = tl.exp2(highest - shift)
        total = total * fading + tl.sum(weights, 1)
        v = read_rows(V, cols, v_l, length, DV, ENDS)
        acc = tl.dot(weights.to(v.dtype), v, acc * fading[:, None], input_precision=PRECISION)
        highest = higher
    return acc, highest, total


@triton.autotune(configs=configs_of(*FORWARD), **TUNED)
@triton.jit(do_not_specialize=["bucket"])
def forward_kernel(
    Q, K, V, Sums, Slopes, Table, Firsts, Out, Rest, Logs,
    q_b, q_h, q_l, k_b, k_h, k_l, v_b, v_h, v_l, o_b, o_h, o_l, c_b, c_h, f_b,
    heads, length, factor, bucket,
    DK: tl.constexpr, DV: tl.constexpr, NEAR: tl.constexpr, EVEN: tl.constexpr,
    PRECISION: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    """o and L of a block of queries, longest rows first."""
    blocks = tl.cdiv(length, ROWS)
    head = tl.program_id(0) // blocks
    start = (blocks - 1 - tl.program_id(0) % blocks) * ROWS
    rows = start + tl.arange(0, ROWS)
    sums, slope, table, firsts, first = Sums, Slopes, Table, Firsts, None
    if Sums is not None:
        sums = head_at(Sums, head, heads, c_b, c_h)
    if Slopes is not None:
        slope = tl.load(Slopes + head % heads)
    if Table is not None:
        table = Table + head % heads * NEAR
    if Firsts is not None:
        firsts = head_at(Firsts, head, heads, f_b, 0)
        first = read_numbers(firsts, rows, length, 0, not EVEN)
    origin = origin_of(sums, start)
    q = read_rows(head_at(Q, head, heads, q_b, q_h), rows, q_l, length, DK, not EVEN)
    K = head_at(K, head, heads, k_b, k_h)
    V = head_at(V, head, heads, v_b, v_h)
    acc = tl.zeros([ROWS, DV], tl.float32)
    highest = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    low, everybody, diagonal = key_range(firsts, start, length, NEAR, ROWS, COLS)
    if firsts is not None:
        acc, highest, total = _attend(
            acc, highest, total, q, K, V, k_l, v_l, sums, slope, table, origin, start, rows, first,
            low, everybody, length, factor, COLS, DK, DV, NEAR, True, EVEN, PRECISION,
        )  # fmt: skip
    acc, highest, total = _attend(
        acc, highest, total, q, K, V, k_l, v_l, sums, slope, table, origin, start, rows, first,
        everybody, diagonal, length, factor, COLS, DK, DV, NEAR, False, EVEN, PRECISION,
    )  # fmt: skip
    acc, highest, total = _attend(
        acc, highest, total, q, K, V, k_l, v_l, sums, slope, table, origin, start, rows, first,
        diagonal, tl.minimum(start + ROWS, length), length, factor,
        COLS, DK, DV, NEAR, True, EVEN, PRECISION,
    )  # fmt: skip
    some = total > 0
    acc = acc / tl.where(some, total, 1.0)[:, None]
    put_rows(head_at(Out, head, heads, o_b, o_h), rows, o_l, length, acc, DV, not EVEN)
    if Rest is not None:
        rest = acc - acc.to(Out.dtype.element_ty).to(tl.float32)
        put_rows(head_at(Rest, head, heads, o_b, o_h), rows, o_l, length, rest, DV, not EVEN)
    own = bias_of_queries(sums, slope, rows, origin, start, length, not EVEN)
    logs = tl.where(some, highest + tl.log2(tl.where(some, total, 1.0)) + own, float("inf"))
    tl.store(Logs + head.to(tl.int64) * length + rows, logs, mask=rows < length)


@triton.jit
def rows_kernel(
    Out, Rest, Grad, Logs, Sums, Slopes, Delta, Relative, o_b, o_h, o_l, g_b, g_h, g_l, c_b, c_h,
    heads, length, DV: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """D_i, and L_i without u_i as seen from the first token of a group."""
    blocks = tl.cdiv(length, GROUP)
    head = tl.program_id(0) // blocks
    start = tl.program_id(0) % blocks * GROUP
    rows = start + tl.arange(0, GROUP)
    sums, slope = Sums, Slopes
    if Sums is not None:
        sums = head_at(Sums, head, heads, c_b, c_h)
    if Slopes is not None:
        slope = tl.load(Slopes + head % heads)
    out = read_rows(head_at(Out, head, heads, o_b, o_h), rows, o_l, length, DV, True)
    out = out.to(tl.float32)
    if Rest is not None:
        out += read_rows(head_at(Rest, head, heads, o_b, o_h), rows, o_l, length, DV, True)
    grad = read_rows(head_at(Grad, head, heads, g_b, g_h), rows, g_l, length, DV, True)
    at = head.to(tl.int64) * length + rows
    delta = tl.sum(out * grad.to(tl.float32), 1)
    tl.store(Delta + at, delta, mask=rows < length)
    logs = tl.load(Logs + at, mask=rows < length, other=0.0)
    logs -= bias_of_queries(sums, slope, rows, origin_of(sums, start), start, length, True)
    tl.store(Relative + at, logs, mask=rows < length)


@triton.jit
def _gather_keys(
    dk, dv, dc, k, v, Q, G, q_l, g_l, Logs, Delta, DQuery, DGroups, DNear, sums, slope, table,
    c, cols, firsts, low, high, length, factor,
    ROWS: tl.constexpr, COLS: tl.constexpr, DK: tl.constexpr, DV: tl.constexpr,
    GROUP: tl.constexpr, NEAR: tl.constexpr, MASKED: tl.constexpr, EVEN: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """The pass for dk, dv and dc over queries from `low` to `high`; scores are transposed."""
    coming = origin_of(sums, tl.minimum(low, length - 1) // GROUP * GROUP)
    for row in tl.range(low, high, ROWS):
        rows = row + tl.arange(0, ROWS)
        q = read_rows(Q, rows, q_l, length, DK, not EVEN)
        scores = tl.dot(k, tl.trans(q), input_precision=PRECISION) * factor
        if sums is not None or slope is not None:
            scores += bias_of_keys(c, slope, cols, coming, row // GROUP * GROUP)[:, None]
            coming = origin_of(sums, tl.minimum(row + ROWS, length - 1) // GROUP * GROUP)
        if MASKED:
            first = None
            if firsts is not None:
                first = read_numbers(firsts, rows, length, 0, not EVEN)
            if table is not None:
                scores += tl.trans(bias_of_near(table, rows, cols, NEAR))
            scores = tl.where(tl.trans(is_seen(rows, cols, first)), scores, float("-inf"))
        logs = read_numbers(Logs, rows, length, float("inf"), not EVEN)
        weights = tl.exp2(scores - logs[None, :])
        g = read_rows(G, rows, g_l, length, DV, not EVEN)
        dv = tl.dot(weights.to(g.dtype), g, dv, input_precision=PRECISION)
        delta = read_numbers(Delta, rows, length, 0.0, not EVEN)
        ds = weights * (tl.dot(v, tl.trans(g), input_precision=PRECISION) - delta[None, :])
        if sums is not None:
            of_keys = tl.sum(ds, 1)
            dc -= of_keys
            if DGroups is not None:  # by keys, whose sums are available here, not by queries
                at = DGroups + row // GROUP * LARGEST + tl.arange(0, COLS)
                tl.atomic_add(at, of_keys, sem="relaxed")
        if MASKED and table is not None:
            put_near(DNear, rows, cols, tl.trans(ds), length, NEAR)
        ds = ds.to(q.dtype)
        dk = tl.dot(ds, q, dk, input_precision=PRECISION)
        if DQuery is not None:
            dq = tl.dot(tl.trans(ds), k, input_precision=PRECISION)
            add_rows(DQuery, rows, length, dq, DK, not EVEN)
    return dk, dv, dc


@triton.autotune(configs=configs_of(*DKV), pre_hook=clear_dq, **TUNED)
@triton.jit(do_not_specialize=["bucket"])
def dkv_kernel(
    Q, K, V, Sums, Slopes, Table, Firsts, Lasts, Grad, Logs, Delta,
    DKey, DValue, DSums, DQuery, DGroups, DNear,
    q_b, q_h, q_l, k_b, k_h, k_l, v_b, v_h, v_l, g_b, g_h, g_l,
    dk_b, dk_h, dk_l, dv_b, dv_h, dv_l, c_b, c_h, f_b,
    heads, length, factor, scale, bucket,
    DK: tl.constexpr, DV: tl.constexpr, NEAR: tl.constexpr, EVEN: tl.constexpr,
    PRECISION: tl.constexpr, GROUP: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    """dk, dv and dc of a block of keys."""
    blocks = tl.cdiv(length, COLS)
    head = tl.program_id(0) // blocks
    start = tl.program_id(0) % blocks * COLS
    cols = start + tl.arange(0, COLS)
    sums, slope, table, firsts, lasts, c = Sums, Slopes, Table, Firsts, Lasts, None
    if Sums is not None:
        sums = head_at(Sums, head, heads, c_b, c_h)
        c = read_numbers(sums, cols, length, float("inf"), not EVEN)
    if Slopes is not None:
        slope = tl.load(Slopes + head % heads)
    if Table is not None:
        table = Table + head % heads * NEAR
        DNear += head.to(tl.int64) * length * NEAR
    if Firsts is not None:
        firsts = head_at(Firsts, head, heads, f_b, 0)
        lasts = head_at(Lasts, head, heads, f_b, 0)
    k = read_rows(head_at(K, head, heads, k_b, k_h), cols, k_l, length, DK, not EVEN)
    v = read_rows(head_at(V, head, heads, v_b, v_h), cols, v_l, length, DV, not EVEN)
    Q = head_at(Q, head, heads, q_b, q_h)
    Grad = head_at(Grad, head, heads, g_b, g_h)
    Logs += head.to(tl.int64) * length
    Delta += head.to(tl.int64) * length
    if DQuery is not None:
        DQuery += head.to(tl.int64) * length * DK
    if DGroups is not None:
        DGroups += head.to(tl.int64) * tl.cdiv(length, GROUP) * LARGEST
    dk = tl.zeros([COLS, DK], tl.float32)
    dv = tl.zeros([COLS, DV], tl.float32)
    dc = tl.zeros([COLS], tl.float32)
    low, below, everybody, end = query_range(lasts, start, length, NEAR, ROWS, COLS)
    dk, dv, dc = _gather_keys(
        dk, dv, dc, k, v, Q, Grad, q_l, g_l, Logs, Delta, DQuery, DGroups, DNear, sums, slope,
        table, c, cols, firsts, low, tl.minimum(below, end), length, factor,
        ROWS, COLS, DK, DV, GROUP, NEAR, True, EVEN, PRECISION,
    )  # fmt: skip
    dk, dv, dc = _gather_keys(
        dk, dv, dc, k, v, Q, Grad, q_l, g_l, Logs, Delta, DQuery, DGroups, DNear, sums, slope,
        table, c, cols, firsts, below, tl.minimum(everybody, end), length, factor,
        ROWS, COLS, DK, DV, GROUP, NEAR, False, EVEN, PRECISION,
    )  # fmt: skip
    if lasts is not None:
        dk, dv, dc = _gather_keys(
            dk, dv, dc, k, v, Q, Grad, q_l, g_l, Logs, Delta, DQuery, DGroups, DNear, sums,
            slope, table, c, cols, firsts, everybody, end, length, factor,
            ROWS, COLS, DK, DV, GROUP, NEAR, True, EVEN, PRECISION,
        )  # fmt: skip
    put_rows(head_at(DKey, head, heads, dk_b, dk_h), cols, dk_l, length, dk * scale, DK, not EVEN)
    put_rows(head_at(DValue, head, heads, dv_b, dv_h), cols, dv_l, length, dv, DV, not EVEN)
    if sums is not None:
        tl.store(DSums + head.to(tl.int64) * length + cols, dc, mask=cols < length)


@triton.jit
def _gather_queries(
    dq, row_sums, q, g, K, V, k_l, v_l, logs, delta, sums, slope, table, origin, start, rows,
    first, low, high, length, factor,
    COLS: tl.constexpr, DK: tl.constexpr, DV: tl.constexpr, NEAR: tl.constexpr,
    MASKED: tl.constexpr, EVEN: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """The pass for dq and sums of rows over keys from `low` to `high`."""
    ENDS: tl.constexpr = MASKED and not EVEN
    for col in tl.range(low, high, COLS):
        cols = col + tl.arange(0, COLS)
        k = read_rows(K, cols, k_l, length, DK, ENDS)
        scores = tl.dot(q, tl.trans(k), input_precision=PRECISION) * factor
        if sums is not None or slope is not None:
            c = None
            if sums is not None:
                c = read_numbers(sums, cols, length, float("inf"), ENDS)
            scores += bias_of_keys(c, slope, cols, origin, start)[None, :]
        if MASKED:
            if table is not None:
                scores += bias_of_near(table, rows, cols, NEAR)
            scores = tl.where(is_seen(rows, cols, first), scores, float("-inf"))
        weights = tl.exp2(scores - logs[:, None])
        v = read_rows(V, cols, v_l, length, DV, ENDS)
        ds = weights * (tl.dot(g, tl.trans(v), input_precision=PRECISION) - delta[:, None])
        dq = tl.dot(ds.to(k.dtype), k, dq, input_precision=PRECISION)
        row_sums += tl.sum(ds, 1)
    return dq, row_sums


@triton.autotune(configs=configs_of(*DQ), **TUNED)
@triton.jit(do_not_specialize=["bucket"])
def dq_kernel(
    Q, K, V, Sums, Slopes, Table, Firsts, Grad, Logs, Delta, DQuery, DRows,
    q_b, q_h, q_l, k_b, k_h, k_l, v_b, v_h, v_l, g_b, g_h, g_l, dq_b, dq_h, dq_l, c_b, c_h, f_b,
    heads, length, factor, scale, bucket,
    DK: tl.constexpr, DV: tl.constexpr, NEAR: tl.constexpr, EVEN: tl.constexpr,
    PRECISION: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    """dq, and the sums of rows of dS, of a block of queries, longest rows first."""
    blocks = tl.cdiv(length, ROWS)
    head = tl.program_id(0) // blocks
    start = (blocks - 1 - tl.program_id(0) % blocks) * ROWS
    rows = start + tl.arange(0, ROWS)
    sums, slope, table, firsts, first = Sums, Slopes, Table, Firsts, None
    if Sums is not None:
        sums = head_at(Sums, head, heads, c_b, c_h)
    if Slopes is not None:
        slope = tl.load(Slopes + head % heads)
    if Table is not None:
        table = Table + head % heads * NEAR
    if Firsts is not None:
        firsts = head_at(Firsts, head, heads, f_b, 0)
        first = read_numbers(firsts, rows, length, 0, not EVEN)
    origin = origin_of(sums, start)
    q = read_rows(head_at(Q, head, heads, q_b, q_h), rows, q_l, length, DK, not EVEN)
    g = read_rows(head_at(Grad, head, heads, g_b, g_h), rows, g_l, length, DV, not EVEN)
    K = head_at(K, head, heads, k_b, k_h)
    V = head_at(V, head, heads, v_b, v_h)
    delta = read_numbers(Delta + head.to(tl.int64) * length, rows, length, 0.0, not EVEN)
    logs = read_numbers(Logs + head.to(tl.int64) * length, rows, length, float("inf"), not EVEN)
    logs -= bias_of_queries(sums, slope, rows, origin, start, length, not EVEN)
    dq = tl.zeros([ROWS, DK], tl.float32)
    row_sums = tl.zeros([ROWS], tl.float32)
    low, everybody, diagonal = key_range(firsts, start, length, NEAR, ROWS, COLS)
    if firsts is not None:
        dq, row_sums = _gather_queries(
            dq, row_sums, q, g, K, V, k_l, v_l, logs, delta, sums, slope, table, origin, start,
            rows, first, low, everybody, length, factor,
            COLS, DK, DV, NEAR, True, EVEN, PRECISION,
        )  # fmt: skip
    dq, row_sums = _gather_queries(
        dq, row_sums, q, g, K, V, k_l, v_l, logs, delta, sums, slope, table, origin, start, rows,
        first, everybody, diagonal, length, factor, COLS, DK, DV, NEAR, False, EVEN, PRECISION,
    )  # fmt: skip
    dq, row_sums = _gather_queries(
        dq, row_sums, q, g, K, V, k_l, v_l, logs, delta, sums, slope, table, origin, start, rows,
        first, diagonal, tl.minimum(start + ROWS, length), length, factor,
        COLS, DK, DV, NEAR, True, EVEN, PRECISION,
    )  # fmt: skip
    put_rows(head_at(DQuery, head, heads, dq_b, dq_h), rows, dq_l, length, dq * scale, DK, not EVEN)
    if DRows is not None:
        at = DRows + head.to(tl.int64) * length + rows
        tl.store(at, row_sums, mask=rows < length)
