// Makes a run of many steps and prints what it wrote: `node budgetProcess.mjs <file> <steps>`.
import { existsSync, readFileSync } from 'node:fs'
import { Agent } from '../../src/agent/Agent.ts'
import { openRuns, sqlite } from '../../src/durable/index.ts'
import { findDriver, type OpenDriver } from '../../src/durable/sqlite/driver.ts'
import type { ChatModel } from '../../src/model/chatModel.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'

const [path = '', count = ''] = process.argv.slice(2)
const steps = Number(count)
/** An answer and a result of this length make 1 MB in 200 steps. */
const length = 2450

const open = await findDriver()
const given = { bytes: 0, snapshots: [] as number[] }

/** Counts what SQLite is given. */
const counting: OpenDriver = (at) => {
  const driver = open(at)
  return {
    exec: (sql) => driver.exec(sql),
    close: () => driver.close(),
    prepare: (sql) => {
      const statement = driver.prepare(sql)
      return {
        get: (...values) => statement.get(...values),
        all: (...values) => statement.all(...values),
        run: (...values) => {
          const sizes = values.map((value) => (typeof value === 'string' ? Buffer.byteLength(value) : 8))
          given.bytes += sizes.reduce((sum, size) => sum + size, 0)
          if (sql.startsWith('UPDATE runs') && sql.includes('head')) given.snapshots.push(sizes.at(-2) ?? 0)
          return statement.run(...values)
        },
      }
    },
  }
}

let asked = 0
const model: ChatModel = {
  ...scriptedModel([]),
  stream: (request, sink) => {
    const step = asked++
    const pieces = Array.from({ length: 20 }, () => ({ text: 'w'.repeat(length / 20) }))
    const call = { toolCall: { id: `call_${step}`, name: 'look' } }
    return scriptedModel([step < steps - 1 ? [...pieces, call] : 'Done.']).stream(
      { ...request, messages: [] },
      sink,
    )
  },
}
const look = tool({ name: 'look', description: 'Looks.', execute: async () => 'r'.repeat(length) })

/** The bytes that this process has handed to the system so far, as Linux counts them. */
const handed = (): number => {
  if (!existsSync('/proc/self/io')) return 0
  return Number(/^wchar: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])
}

const agent = new Agent(model, { tools: [look], maxSteps: steps })
const before = handed()
const runs = await openRuns({ store: sqlite(path, { driver: counting }), agents: { agent } })
const { messages } = await (await runs.start('agent', 'Go')).result
await runs.close()
const after = handed()
process.stdout.write(
  `written ${JSON.stringify({
    history: JSON.stringify(messages).length,
    given: given.bytes,
    // The last one has the output as well.
    snapshots: given.snapshots.slice(0, -1),
    handed: after - before,
  })}\n`,
)
