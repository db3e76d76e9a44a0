/** The tasks of a child process, each loaded only where it is done. */
const named = (name) => async (job) => (await import(`./${name}.mjs`))[name](job)

const names = [
  'stream',
  'flat',
  'crowd',
  'growth',
  'agents',
  'abort',
  'firstToken',
  'load',
  'throughput',
  'waiting',
  'openStore',
  'chats',
  'longRun',
  'readerLag',
  'pageLag',
]

export const tasks = Object.fromEntries(names.map((name) => [name, named(name)]))
