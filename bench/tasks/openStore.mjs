import { Driver } from '../countingDriver.mjs'
import { prompt } from '../tool.mjs'

const copied = ['contexts', 'items', 'stream']

/** A file with many finished runs, all copies of one: the time until it is open, and until a page of them is listed. */
export const openStore = async ({ open, count }) => {
  const contender = await open()
  await contender.ask(prompt)
  await contender.runs.close()
  copyRuns(contender.path, count)
  const begin = performance.now()
  const runs = await contender.reopen()
  const opened = performance.now() - begin
  const listed = await runs.list({ limit: 50 })
  if (listed.length !== Math.min(50, count)) throw new Error(`${listed.length} runs are listed`)
  const after = performance.now() - begin
  await runs.close()
  await contender.remove()
  return { opened, listed: after }
}

/** Fills the file by SQL: to run them all would take minutes. */
const copyRuns = (path, count) => {
  const file = new Driver(path)
  const columns = (table) =>
    file
      .prepare(`PRAGMA table_info(${table})`)
      .all()
      .map(({ name }) => name)
  const others = columns('runs').filter((name) => name !== 'n' && name !== 'id')
  const series = `WITH RECURSIVE copies(c) AS (SELECT 2 UNION ALL SELECT c + 1 FROM copies WHERE c < ${count})`
  file.exec(
    `${series} INSERT INTO runs (n, id, ${others}) SELECT c, 'copy-' || c, ${others} FROM copies, runs WHERE n = 1`,
  )
  for (const table of copied) {
    const rest = columns(table).filter((name) => name !== 'run')
    file.exec(
      `${series} INSERT INTO ${table} (run, ${rest}) SELECT c, ${rest} FROM copies, ${table} WHERE run = 1`,
    )
  }
  file.close()
}
