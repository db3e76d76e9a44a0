import type { AnyStateMachine } from 'xstate'
import { isJsonObject } from '../../messages/json.ts'
import type { PolicyProof, ProvedClaim, ProveOptions } from '../../testing/provePolicy.ts'
import { toMermaid } from '../../visualize/toMermaid.ts'
import { type Command, textOption } from '../command.ts'
import { findExport, findMachine } from '../moduleFile.ts'
import { exit, UsageError } from '../outcome.ts'

export const policy: Command = {
  name: 'policy',
  summary: 'Proves the claims about the policy of a file',
  operands: 'check <file>',
  options: {
    export: { type: 'string', short: 'e', value: 'name', about: 'which export of the file is the policy' },
  },
  details: [
    'The file is a module that exports an XState 5 machine, and what must hold of it',
    'as "claims": { tools, never, always, reachable }, as for provePolicy. Without',
    'claims, the states and common mistakes are looked at. A way that breaks a claim',
    'is also drawn into the chart, as Mermaid text. The file is loaded, so its code',
    'runs.',
  ],
  run: async (invocation) => {
    const [word, file, ...more] = invocation.words
    if (word !== 'check' || file === undefined || more.length > 0)
      throw new UsageError('Name one file: statewire policy check rules.ts')
    const machine = await findMachine(file, textOption(invocation, 'export'))
    const { lines, isFine } = await checkPolicy(machine, await claimsIn(file))
    for (const line of lines) invocation.screen.line(line)
    return isFine ? exit.complete : exit.failed
  },
}

/** The claims that a file exports; undefined if it has none. */
const claimsIn = async (file: string): Promise<ProveOptions | undefined> => {
  try {
    return await findExport(file, { noun: 'list of claims', read: asClaims, name: 'claims' })
  } catch (error) {
    if (error instanceof UsageError && error.message.includes('is not exported')) return undefined
    throw error
  }
}

const asClaims = (value: unknown): ProveOptions | undefined =>
  isJsonObject(value) && Array.isArray(value.tools) ? Object.assign({ tools: [] }, value) : undefined

/** Checks a policy, and puts what was found into lines for people. */
export const checkPolicy = async (
  machine: AnyStateMachine,
  claims: ProveOptions = { tools: toolsIn(machine) },
): Promise<{ lines: string[]; isFine: boolean }> => {
  const { provePolicy } = await import('../../testing/provePolicy.ts')
  const proof = provePolicy(machine, claims)
  return { lines: linesOf(machine, proof), isFine: proof.isProved && proof.notes.length === 0 }
}

/** The tools whose calls a policy mentions. */
const toolsIn = ({ events }: AnyStateMachine): string[] =>
  (events as readonly string[]).flatMap((type) => (type.endsWith('.call') ? [type.slice(0, -5)] : []))

const linesOf = (machine: AnyStateMachine, { claims, lints, notes, states }: PolicyProof): string[] => [
  `${machine.id}: ${states.size} states can be reached.`,
  ...claims.flatMap(claimLines),
  ...lints.map((lint) => `! ${lint}`),
  ...notes.map((note) => `? Not proved: ${note}.`),
  ...claims.flatMap((claim) => drawingOf(machine, claim)),
]

const said: Record<ProvedClaim['verdict'], string> = {
  proved: '✓ proved',
  refuted: '✗ refuted',
  possible: '~ possible',
  unknown: '? unknown',
}

const claimLines = ({ name, kind, verdict, witness }: ProvedClaim): string[] => [
  `${said[verdict]}, ${kind}: ${name}`,
  ...(verdict === 'proved' ? [] : (witness ?? []).map((step, index) => `    ${index + 1}. ${step}`)),
]

/** The chart with the way that breaks a claim, as Mermaid text. */
const drawingOf = (machine: AnyStateMachine, { name, kind, verdict, steps }: ProvedClaim): string[] =>
  verdict === 'proved' || kind === 'reachable' || !steps
    ? []
    : ['', `%% ${kind}: ${name.replace(/\s+/g, ' ')}`, ...toMermaid(machine, { steps }).trimEnd().split('\n')]
