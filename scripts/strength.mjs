// The tables of docs/testing-strength.md: the kinds of tests there are, and how many changed lines the tests notice.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { shards } from '../test/mutation/shards.mjs'

/** Each kind of test: what must hold, and the files that check it. A kind whose files are gone fails the documents. */
const kinds = [
  [
    'paths',
    'every transition of every chart, on every path: one end, a valid history, a snapshot that can be stored',
    ['test/machines/paths.test.ts'],
  ],
  [
    'model checks',
    'every state can be reached, ends by itself, and can be aborted; nothing forbidden can be reached',
    ['test/machines/modelCheck.test.ts'],
  ],
  [
    'recordings',
    'recorded answers give what the provider’s own SDK makes of them, however their bytes arrive',
    ['test/recordings/streams.test.ts', 'test/recordings/conversations.test.ts'],
  ],
  [
    'splits and cuts',
    'the same bytes mean the same wherever a read ends; a cut answer is never taken for a whole one',
    ['test/proof/splits.test.ts', 'test/proof/cuts.test.ts', 'test/hostile/cuts.test.ts'],
  ],
  [
    'hostile servers',
    'odd fields, wrong frames, endless lines, missing ends: an answer or a typed error',
    ['test/hostile/mangled.test.ts', 'test/hostile/framing.test.ts', 'test/proof/garbage.test.ts'],
  ],
  [
    'hostile users',
    'every function of yours × everything it can do wrong: one end, and nothing unhandled',
    ['test/proof/callbacks.test.ts', 'test/proof/hostileUsers.test.ts', 'test/proof/hostileTools.test.ts'],
  ],
  [
    'options',
    'every public option × a table of bad values: refused by name, or answered',
    ['test/engine/badOptions.test.ts'],
  ],
  [
    'stored shapes',
    'every field of every stored shape changed: refused with a reason, or a run that ends',
    ['test/api/tampering.test.ts', 'test/stored/stored.test.ts'],
  ],
  [
    'work counted',
    'twice as much input is twice the work, for everything a server or a user can make long',
    ['test/proof/linear.test.ts', 'test/durable/budget.test.ts'],
  ],
  [
    'secrets',
    'a key that a server gives back, in any encoding, on any provider, stays hidden',
    ['test/proof/secrets.test.ts'],
  ],
  [
    'aborts',
    'interrupted at every event, in every way: one end, nothing left open, the next run works',
    ['test/proof/aborts.test.ts', 'test/proof/abortsElsewhere.test.ts'],
  ],
  [
    'deaths',
    'a process killed at any moment loses nothing, doubles nothing and shows nothing wrong',
    [
      'test/durable/exhaustive.test.ts',
      'test/durable/kills.test.ts',
      'test/durable/everyCommit.test.ts',
      'test/dbos/kills.test.ts',
    ],
  ],
  [
    'random walks',
    'chats and runs survive thousands of random episodes',
    ['test/api/walk.test.ts', 'test/proof/soak.test.ts', 'test/proof/longRunFaults.test.ts'],
  ],
  [
    'leaks',
    'thousands of runs leave no heap, timer, socket or listener behind',
    ['test/proof/growth.test.ts', 'test/engine/leaks.test.ts', 'test/proof/connections.test.ts'],
  ],
  [
    'XState',
    'the same runs on the oldest and the newest release, and on copies that differ inside; public types alone',
    ['test/xstate/versions.test.ts', 'test/xstate/shuffled.test.ts', 'test/xstate/publicTypes.test.ts'],
  ],
  [
    'real other sides',
    'the clients, servers and databases that users have',
    [
      'test/mcp/transports.test.ts',
      'test/ui/clients.test.ts',
      'test/dbos/runs.test.ts',
      'test/telemetry/*.test.ts',
    ],
  ],
  [
    'browsers and workers',
    'pages in Chromium, and the library in a worker runtime',
    [
      'test/inspector/page.test.ts',
      'test/examples/inBrowser.test.ts',
      'test/ui/browser.test.ts',
      'test/workers/workers.test.ts',
    ],
  ],
  [
    'the package',
    'what is published installs, compiles and runs in empty projects',
    ['test/package/package.test.ts'],
  ],
  [
    'documents',
    'every block of every page runs, and what is generated is up to date',
    ['test/docs/blocks.test.ts', 'test/docs/generated.test.ts'],
  ],
]

const filesOf = (pattern) => {
  if (!pattern.includes('*')) return existsSync(pattern) ? [pattern] : []
  const folder = pattern.slice(0, pattern.lastIndexOf('/'))
  return readdirSync(folder).filter((name) => name.endsWith('.test.ts'))
}

/** The table of the kinds of tests, and the entries whose files are gone. */
export const kindTable = () => {
  const isGone = (pattern) => filesOf(pattern).length === 0
  const place = (pattern) => `\`${pattern.replace(/^test\//, '')}\`${isGone(pattern) ? ' **is gone**' : ''}`
  const missing = kinds.flatMap(([kind, , patterns]) =>
    patterns.filter(isGone).map((pattern) => `${kind}: ${pattern} is gone.`),
  )
  const lines = [
    '| kind | what must hold | where |',
    '| --- | --- | --- |',
    ...kinds.map(
      ([kind, promise, patterns]) => `| ${kind} | ${promise} | ${patterns.map(place).join(', ')} |`,
    ),
  ]
  return { lines, missing }
}

const scoresFile = 'test/mutation/scores.json'

const share = ({ noticed, missed }) => `${((100 * noticed) / (noticed + missed)).toFixed(1)} %`

/** Sums scores. A part of which one mutant in six was tried counts for six times as many. */
const sum = (scores) => ({
  noticed: scores.reduce((all, { noticed, oneIn }) => all + noticed * oneIn, 0),
  missed: scores.reduce((all, { missed, oneIn }) => all + missed * oneIn, 0),
})

export const mutationTable = () => {
  const scores = existsSync(scoresFile) ? JSON.parse(readFileSync(scoresFile, 'utf8')) : {}
  const row = ([name, { mutate }]) => {
    const changed = mutate.filter((path) => !path.startsWith('!'))
    const folders = [...new Set(changed.map((path) => `\`${path.replace(/(?:\/\*\*)?\/[^/]*$/, '')}\``))]
    const score = scores[name]
    if (!score) return [name, folders.join(', '), '', 'not yet', '']
    const { noticed, missed, oneIn, measured } = score
    const tried = `${noticed + missed}${oneIn === 1 ? '' : `, one in ${oneIn}`}`
    return [name, folders.join(', '), tried, share(score), measured]
  }
  const total = (title, names) => {
    const known = names.flatMap((name) => scores[name] ?? [])
    return known.length === 0 ? [] : [[`**${title}**`, '', '', `**${share(sum(known))}**`, '']]
  }
  const names = Object.keys(shards)
  const ofMachines = names.filter((name) => shards[name].mutate[0].startsWith('machines/'))
  const rows = [
    ...Object.entries(shards).map(row),
    ...total('machines', ofMachines),
    ...total('all measured', names),
  ]
  return [
    '| part | changed | mutants | noticed | measured |',
    '| --- | --- | --: | --: | --- |',
    ...rows.map((cells) => `| ${cells.join(' | ')} |`),
  ]
}
