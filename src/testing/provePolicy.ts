import type { AnyMachineSnapshot, AnyStateMachine, AnyStateNode } from 'xstate'
import { lintPolicy } from './lintPolicy.ts'
import {
  firstSteps,
  isActive,
  type ModelStep,
  type PolicyModel,
  policyModel,
  stepsOn,
  TooManyGuesses,
} from './policyModel.ts'

/** A step that a run with the policy may take. A call that is refused is not a step `.call`, but `.refused`. */
export type PolicyStep = {
  /** The event, such as `refund.call`; of a check, its end. */
  event: string
  /** The events that have happened before. */
  seen: { has(event: string): boolean }
  /** The state before the step, as in XState: `'Verified'` or `{ Money: 'Open' }`. */
  from: unknown
  /** The state after it. */
  state: unknown
  /** The call waits for a person. */
  isAsked: boolean
}

/** A claim about the steps of a policy. */
export type PolicyClaim = (step: PolicyStep) => boolean

/** Options of {@link provePolicy}. */
export type ProveOptions = {
  /** The names of the tools. */
  tools: readonly string[]
  /** Steps that no run may take. Default: none. */
  never?: Readonly<Record<string, PolicyClaim>>
  /** Claims that hold for each step of each run. Default: none. */
  always?: Readonly<Record<string, PolicyClaim>>
  /** Steps that some run can take: a policy that refuses everything keeps every rule. Default: none. */
  reachable?: Readonly<Record<string, PolicyClaim>>
  /** The most states that are looked at. Default: 20,000. */
  maxStates?: number
}

/**
 * A claim with what was found. `proved`: it holds in every run. `refuted`: the witness shows a run that breaks it.
 * `possible`: the witness breaks it if the guards on its way say so. `unknown`: not everything was followed.
 */
export type ProvedClaim = {
  name: string
  kind: 'never' | 'always' | 'reachable'
  verdict: 'proved' | 'refuted' | 'possible' | 'unknown'
  /** The shortest way to the step, event by event. */
  witness?: string[]
}

/** The findings about a policy. */
export type PolicyProof = {
  /** True if every claim is proved. */
  isProved: boolean
  claims: ProvedClaim[]
  /** Mistakes that policies often have. */
  lints: string[]
  /** Parts that were not followed: nothing is proved while there is one. */
  notes: string[]
  /** The states that can be reached, as JSON. */
  states: ReadonlySet<string>
}

type Node = {
  snapshot: AnyMachineSnapshot
  isOver: boolean
  /** The item that waits while the policy holds. */
  pending: Item | null
  /** Tools whose calls have passed. */
  called: readonly string[]
  seen: readonly string[]
  /** The way here. */
  way: Way | null
}

type Way = { before: Way | null; text: string; isCertain: boolean }
type Item = { event: string; refused: string | null; kind: 'ask' | 'show' | 'look' | 'report' }

/**
 * Proves claims about a policy before it runs. It tries every event in every state, with each guard true and false, and with
 * checks that end in any way: what it does not find cannot happen in any run.
 *
 * @example
 * const { isProved } = provePolicy(rules, {
 *   tools: ['verify', 'refund'],
 *   never: { 'a refund before it': ({ event, seen }) => event === 'refund.call' && !seen.has('verify.done') },
 * })
 */
export const provePolicy = (machine: AnyStateMachine, options: ProveOptions): PolicyProof => {
  const model = policyModel(machine)
  const watched = new Set<string>()
  // The claims say by what they ask for which events have to be remembered.
  for (;;) {
    const before = watched.size
    const found = explore(machine, model, options, watched)
    if (watched.size === before) return found
  }
}

const explore = (
  machine: AnyStateMachine,
  model: PolicyModel,
  { tools, never = {}, always = {}, reachable = {}, maxStates = 20_000 }: ProveOptions,
  watched: Set<string>,
): PolicyProof => {
  const notes = [...model.notes, ...strangers(machine, model, tools)]
  const claims = [
    ...Object.entries(never).map(([name, claim]) => ({ kind: 'never' as const, name, isHit: claim })),
    ...Object.entries(always).map(([name, claim]) => ({
      kind: 'always' as const,
      name,
      isHit: (step: PolicyStep) => !claim(step),
    })),
    ...Object.entries(reachable).map(([name, claim]) => ({ kind: 'reachable' as const, name, isHit: claim })),
  ]
  const witnesses = new Map<string, Way>()
  const known = new Set<string>()
  const states = new Set<string>()
  const queue: Node[] = []

  const visit = (node: Node) => {
    const key = JSON.stringify([
      node.snapshot.value,
      node.snapshot.historyValue,
      node.isOver,
      node.pending,
      node.called,
      node.seen,
    ])
    if (known.has(key)) return
    known.add(key)
    states.add(JSON.stringify(node.snapshot.value))
    queue.push(node)
  }

  /** Looks at a step, and goes on from where it leads. */
  const take = (from: Node, event: string, to: Omit<Node, 'seen' | 'way'>, guesses: readonly string[]) => {
    const way: Way = {
      before: from.way,
      text: `${event}${guesses.length > 0 ? ` [${guesses.join(', ')}]` : ''} → ${stateText(to.snapshot.value)}`,
      isCertain: guesses.length === 0 && (from.way?.isCertain ?? true),
    }
    const step: PolicyStep = {
      event,
      seen: {
        has: (type) => {
          watched.add(type)
          return from.seen.includes(type)
        },
      },
      from: from.snapshot.value,
      state: to.snapshot.value,
      isAsked: to.snapshot.hasTag('approval'),
    }
    for (const { kind, name, isHit } of claims) {
      const id = `${kind} ${name}`
      const found = witnesses.get(id)
      if (isHit(step) && (!found || (!found.isCertain && way.isCertain))) witnesses.set(id, way)
    }
    const isNew = watched.has(event) && !from.seen.includes(event)
    visit({ ...to, seen: isNew ? [...from.seen, event].toSorted() : from.seen, way })
  }

  /** Decides on an item that the policy has taken, or lets it wait. */
  const settle = (from: Node, item: Item, { snapshot, guesses }: ModelStep, own?: string) => {
    const isOver = from.isOver || snapshot.status === 'done'
    const base = { snapshot, isOver, called: from.called }
    if (snapshot.hasTag('hold'))
      return take(from, own ?? `${item.event} asked`, { ...base, pending: item }, guesses)
    const isRefused = item.kind !== 'report' && snapshot.hasTag('refuse')
    if (isRefused) return refuse(from, item, { ...base, pending: null }, guesses)
    const tool = item.event.endsWith('.call') ? item.event.slice(0, -5) : undefined
    const called =
      tool === undefined || from.called.includes(tool) ? from.called : [...from.called, tool].toSorted()
    take(from, item.event, { ...base, called, pending: null }, guesses)
  }

  const refuse = (from: Node, item: Item, to: Omit<Node, 'seen' | 'way'>, guesses: readonly string[]) => {
    // The run fails, and the next one of the conversation continues from here.
    if (item.refused === null) return take(from, `${item.event} refused`, to, guesses)
    if (to.isOver) return take(from, item.refused, to, guesses)
    for (const after of stepsOn(model, to.snapshot, { type: item.refused })) {
      const isOver = after.snapshot.status === 'done'
      take(from, item.refused, { ...to, snapshot: after.snapshot, isOver }, [...guesses, ...after.guesses])
    }
  }

  /** The node after the end of a check that lets an item go on: claims may ask for that end. */
  const ended = (node: Node, label: string, { snapshot }: ModelStep): Node => {
    if (snapshot.hasTag('hold') || !watched.has(label) || node.seen.includes(label)) return node
    return { ...node, seen: [...node.seen, label].toSorted() }
  }

  const expand = (node: Node) => {
    const { snapshot, isOver, pending } = node
    if (!isOver) {
      // A run may end while the policy holds it: the next one continues without the item.
      if (pending) visit({ ...node, pending: null })
      for (const { type, label, path } of model.own) {
        if (!isActive(snapshot.value, path)) continue
        for (const found of stepsOn(model, snapshot, { type })) {
          // A check that fails without onError ends the run.
          if (found.snapshot.status === 'error') continue
          const step = { ...found, guesses: [endText(label), ...found.guesses] }
          if (pending)
            settle(ended(node, label, step), pending, step, step.snapshot.hasTag('hold') ? label : undefined)
          else
            take(
              node,
              label,
              { ...node, snapshot: step.snapshot, isOver: step.snapshot.status === 'done' },
              step.guesses,
            )
        }
      }
    }
    if (snapshot.hasTag('hold') || (isOver && snapshot.hasTag('refuse'))) return
    for (const item of itemsFor(machine, tools, node)) {
      if (item.kind === 'look' || (isOver && item.kind !== 'ask')) {
        settle(node, item, { snapshot, guesses: [], isTaken: true })
        continue
      }
      const steps = isOver
        ? [{ snapshot, guesses: [], isTaken: false }]
        : stepsOn(model, snapshot, { type: item.event })
      for (const step of steps) {
        if (step.isTaken || item.kind !== 'ask') settle(node, item, step)
        else refuse(node, item, { snapshot, isOver, called: node.called, pending: null }, step.guesses)
      }
    }
  }

  try {
    for (const { snapshot } of firstSteps(model))
      visit({ snapshot, isOver: snapshot.status === 'done', pending: null, called: [], seen: [], way: null })
    for (let node = queue.shift(); node; node = queue.shift()) {
      if (known.size > maxStates) throw new RangeError(`more than ${maxStates} states`)
      expand(node)
    }
  } catch (thrown) {
    if (thrown instanceof TooManyGuesses || model.oracle.isSpent)
      notes.push('guarded transitions that may go round for ever are not followed')
    else if (thrown instanceof RangeError) notes.push(`it has ${thrown.message}`)
    else throw thrown
  }
  const proved = claims.map(({ kind, name }): ProvedClaim => {
    const way = witnesses.get(`${kind} ${name}`)
    const isWanted = kind === 'reachable'
    if (!way) return { name, kind, verdict: notes.length > 0 ? 'unknown' : isWanted ? 'refuted' : 'proved' }
    const verdict = way.isCertain ? (isWanted ? 'proved' : 'refuted') : 'possible'
    return { name, kind, verdict, witness: storyOf(way) }
  })
  return {
    isProved: proved.every(
      ({ verdict, kind }) => verdict === 'proved' || (kind === 'reachable' && verdict === 'possible'),
    ),
    claims: proved,
    lints: [...lintPolicy(machine), ...(notes.length > 0 ? [] : unreachable(machine.root, states))],
    notes,
    states,
  }
}

/** The items that a run may ask about next. Results come only of calls that have passed. */
const itemsFor = ({ events }: AnyStateMachine, tools: readonly string[], { called }: Node): Item[] => {
  const mentions = (type: string) => (events as readonly string[]).some((each) => isMatch(each, type))
  const reports = (tool: string): Item[] =>
    ['done', 'failed', 'approved', 'rejected'].flatMap((end): Item[] => {
      const kind = end === 'done' || end === 'failed' ? 'show' : 'report'
      return [{ event: `${tool}.${end}`, kind, refused: kind === 'show' ? `${tool}.refused` : null }]
    })
  return [
    ...(mentions('prompt') ? [{ event: 'prompt', kind: 'ask', refused: null } as const] : []),
    ...tools.flatMap((tool): Item[] => [
      ...(mentions(`${tool}.call`)
        ? [{ event: `${tool}.call`, kind: 'ask', refused: `${tool}.refused` } as const]
        : // What happens to it is for the option `others`, which may allow it.
          [{ event: `${tool}.call`, kind: 'look', refused: `${tool}.refused` } as const]),
      ...(called.includes(tool) ? reports(tool) : []),
    ]),
    { event: 'answer', kind: mentions('answer') ? 'ask' : 'look', refused: 'answer.refused' },
  ]
}

/** Notes on events that nothing here sends: those of tools that are not listed, and those of checks and actions. */
const strangers = (
  { events }: AnyStateMachine,
  { raised }: PolicyModel,
  tools: readonly string[],
): string[] => {
  const ends = ['call', 'done', 'failed', 'approved', 'rejected', 'refused']
  const known = new Set(['prompt', 'answer', 'answer.refused', ...raised])
  for (const tool of tools) for (const end of ends) known.add(`${tool}.${end}`)
  return (events as readonly string[])
    .filter((type) => !known.has(type) && !type.startsWith('xstate.') && !type.endsWith('*'))
    .map((type) => `'${type}' is not followed: it is of no tool in "tools", and no action raises it`)
}

const isMatch = (descriptor: string, type: string): boolean => {
  if (descriptor === type || descriptor === '*') return true
  const prefix = descriptor.slice(0, -2)
  return descriptor.endsWith('.*') && (type === prefix || type.startsWith(`${prefix}.`))
}

/** The end of a check or a delay, in words: whether it comes is not certain. */
const endText = (type: string): string =>
  type
    .replace(/^xstate\.done\.actor\./, 'ended: ')
    .replace(/^xstate\.error\.actor\./, 'failed: ')
    .replace(/^xstate\.after\./, 'after ')

const storyOf = (way: Way): string[] => [...(way.before ? storyOf(way.before) : []), way.text]

const stateText = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value).replace(/["{}]/g, '').replaceAll(':', '.')

/** The innermost states that no run reaches. */
const unreachable = (root: AnyStateNode, states: ReadonlySet<string>): string[] => {
  const values = [...states].map((each): unknown => JSON.parse(each))
  const below = (node: AnyStateNode): AnyStateNode[] =>
    Object.values(node.states).flatMap((each) => [each, ...below(each)])
  return below(root)
    .filter(({ type }) => type !== 'history')
    .filter(({ path }) => !values.some((value) => isWithin(value, path)))
    .map(({ path }) => `No run reaches the state ${path.join('.')}.`)
}

/** Says whether a state, or one inside it, is active. */
const isWithin = (value: unknown, [first, ...rest]: readonly string[]): boolean => {
  if (first === undefined) return true
  if (typeof value === 'string') return value === first && rest.length === 0
  const inner = Object(value)
  return Object.hasOwn(inner, first) && isWithin(inner[first], rest)
}
