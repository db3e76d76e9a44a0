import { type Counts, type ItemRow, Items } from './Items.ts'
import { type Base, baseIn } from './RunRows.ts'
import { numberIn, type SqliteFile, textIn } from './SqliteFile.ts'
import { damaged } from './storeError.ts'

/** The table of items. Those of the run below are shared, not copied. */
export class ItemRows {
  readonly #file: SqliteFile

  constructor(file: SqliteFile) {
    this.#file = file
  }

  insert(run: number, items: readonly ItemRow[]): void {
    for (const { thread, index, data } of items)
      this.#file.run(
        'INSERT INTO items (run, thread, idx, data) VALUES (?, ?, ?, ?)',
        run,
        thread,
        index,
        data,
      )
  }

  /** Everything that a run may refer to. */
  load(run: number, base: Base | undefined): Items {
    return itemsOf([...(base ? this.#inherited(base) : []), ...this.#rows(run, undefined)])
  }

  /** The same for a run that is not stored yet. */
  inherit(base: Base | undefined): Items {
    return itemsOf(base ? this.#inherited(base) : [])
  }

  /** One item of a run, or of those below it. */
  find(run: number, base: Base | undefined, thread: number, index: number): string {
    for (let at: { run: number; base: Base | undefined } | undefined = { run, base }; at; ) {
      const row = this.#file.get(
        'SELECT data FROM items WHERE run = ? AND thread = ? AND idx = ?',
        at.run,
        thread,
        index,
      )
      if (row) return textIn(row, 'data')
      const below: Base | undefined = index < (at.base?.counts[thread] ?? 0) ? at.base : undefined
      at = below && { run: below.run, base: this.#baseOf(below.run) }
    }
    throw damaged(`item ${index} of thread ${thread} is missing`)
  }

  /** The rows below a run, from the nearest run down to the lowest. */
  #inherited({ run, counts }: Base): ItemRow[] {
    const found: ItemRow[] = []
    for (let at: Base | undefined = { run, counts }; at; ) {
      found.push(...this.#rows(at.run, at.counts))
      const below: Base | undefined = this.#baseOf(at.run)
      at = below && { run: below.run, counts: leastOf(at.counts, below.counts) }
    }
    return found
  }

  #rows(run: number, counts: Counts | undefined): ItemRow[] {
    const rows = this.#file.all('SELECT thread, idx, data FROM items WHERE run = ?', run)
    return rows.flatMap((row) => {
      const [thread, index] = [numberIn(row, 'thread'), numberIn(row, 'idx')]
      return counts && !(index < (counts[thread] ?? 0)) ? [] : [{ thread, index, data: textIn(row, 'data') }]
    })
  }

  #baseOf(run: number): Base | undefined {
    const row = this.#file.get('SELECT base, counts FROM runs WHERE n = ?', run)
    if (!row || row.base === null) return undefined
    const base = baseIn(row)
    // Older runs only: so there is an end.
    if (base.run >= run) throw damaged('a run stands on a newer one')
    return base
  }
}

const itemsOf = (rows: ItemRow[]): Items => {
  const items = new Items()
  for (const row of rows.sort(byPlace)) items.load(row)
  return items
}

const byPlace = (a: ItemRow, b: ItemRow): number => a.thread - b.thread || a.index - b.index

/** A thread that ends early further up has no more items further down. */
const leastOf = (above: Counts, below: Counts): Counts =>
  Object.fromEntries(
    Object.entries(below).flatMap(([thread, count]) => {
      const wanted = above[Number(thread)]
      return wanted === undefined ? [] : [[thread, Math.min(wanted, count)]]
    }),
  )
