// A program that runs the runs of a file: node test/cli/owner.mjs <file> <server of the model> [id] [prompt]
import { appendFileSync } from 'node:fs'
import { openRuns, sqlite } from '../../dist/durable.js'
import { Agent, tool } from '../../dist/index.js'

const [file, baseUrl, id, prompt] = process.argv.slice(2)
const deleteFile = tool({
  name: 'delete_file',
  description: 'Delete a file',
  input: { jsonSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] } },
  needsApproval: true,
  execute: ({ path }) => {
    appendFileSync(`${file}.deleted`, `${path}\n`)
    return `${path} is deleted`
  },
})
const janitor = new Agent('openai:simulator', { baseUrl, apiKey: 'x', tools: [deleteFile] })
const runs = await openRuns({ store: sqlite(file), agents: { janitor } })
if (id !== undefined) await runs.start('janitor', prompt, { id })
console.log('up')
setInterval(() => {}, 60_000)
