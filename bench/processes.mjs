import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const file = (name) => fileURLToPath(new URL(name, import.meta.url))

/** The Node that all processes of a run are started with: figures of one version say little about another. */
export const nodeAt = (path) => ({
  path,
  version: path === process.execPath ? process.version : versionOf(path),
})

const versionOf = (path) => execFileSync(path, ['-p', 'process.version'], { encoding: 'utf8' }).trim()

/** The provider's process; it ends with this one. */
export const startProvider = async (node) => {
  const child = fork(file('provider.mjs'), { execPath: node.path })
  const [{ port }] = await once(child, 'message')
  return { origin: `http://127.0.0.1:${port}`, stop: () => child.disconnect() }
}

/** Settings under which no package reports home or warns while it is measured. */
const quiet = {
  NODE_ENV: 'production',
  AI_SDK_LOG_WARNINGS: 'false',
  LANGSMITH_TRACING: 'false',
  MASTRA_TELEMETRY_DISABLED: '1',
  OPENAI_AGENTS_DISABLE_TRACING: '1',
}

const longestMs = 10 * 60_000

/** Does one job in a fresh process. A contender that cannot run gives `{ failed: why }`. */
export const runJob = (job, node) =>
  new Promise((resolve) => {
    const child = fork(file('child.mjs'), [JSON.stringify(job)], {
      execPath: node.path,
      execArgv: ['--expose-gc'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: { ...process.env, ...quiet },
    })
    const timer = setTimeout(() => {
      complaint = 'It took longer than ten minutes.'
      child.kill('SIGKILL')
    }, longestMs)
    let result
    let complaint = ''
    child.stderr.setEncoding('utf8').on('data', (text) => {
      complaint += text
    })
    child.on('message', (message) => {
      result = message
    })
    child.on('close', () => {
      clearTimeout(timer)
      resolve(result ?? { failed: reasonIn(complaint) })
    })
  })

const reasonIn = (complaint) =>
  /^(?:Error|\w+Error|\w+ \[\w+\]): (.*)$/m.exec(complaint)?.[0].replace(/^Error: /, '') ??
  complaint.trim().slice(0, 300)
