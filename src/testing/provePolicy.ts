import type { AnyMachineSnapshot, AnyStateMachine } from 'xstate'
import { lintPolicy, unreachable } from './lintPolicy.ts'
import {
  type CallChange,
  CallCounts,
  changedBy,
  type Item,
  itemsFor,
  StepEvents,
  strangers,
} from './policyItems.ts'
import {
  checkProof,
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
  /** The most states that are looked at, with 15 times as many steps. Default: 20,000. */
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
  /** The events and states of that way: `toMermaid` of `statewire/visualize` draws them into the chart. */
  steps?: { event: string; state: unknown }[]
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
  /** The calls of each tool that have passed and have no end, as far as they are counted. */
  open: readonly number[]
  seen: readonly string[]
  /** The way here. */
  way: Way | null
}

type Way = {
  before: Way | null
  text: string
  /** A run can go this way whatever guards and checks say. */
  isCertain: boolean
  event: string
  state: unknown
  /** The calls of each tool without an end, all of them. */
  open: readonly number[]
}

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
  checkProof(machine, options)
  const model = policyModel(machine)
  const events = new StepEvents(model, options.tools)
  for (const kind of ['never', 'always', 'reachable'] as const)
    for (const [name, claim] of Object.entries(options[kind] ?? {}))
      events.checkText(`${kind}['${name}']`, claim)
  const watched = new Set<string>()
  // The claims say by what they ask for which events have to be remembered.
  for (;;) {
    const before = watched.size
    const found = explore(machine, model, events, options, watched)
    if (watched.size === before) return found
  }
}

const stepsPerState = 15

const explore = (
  machine: AnyStateMachine,
  model: PolicyModel,
  events: StepEvents,
  { tools, never = {}, always = {}, reachable = {}, maxStates = 20_000 }: ProveOptions,
  watched: Set<string>,
): PolicyProof => {
  const notes = [...model.notes, ...strangers(machine, model, tools)]
  const none = tools.map(() => 0)
  const counts = new CallCounts(machine, tools)
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
      node.open,
      node.seen,
    ])
    if (known.has(key)) return
    known.add(key)
    states.add(JSON.stringify(node.snapshot.value))
    queue.push(node)
  }

  /** Looks at a step, and goes on from where it leads. */
  const take = (
    from: Node,
    event: string,
    to: Omit<Node, 'seen' | 'way'>,
    guesses: readonly string[],
    change?: CallChange,
  ) => {
    const before = from.way?.open ?? none
    const open = change ? changedBy(before, change) : before
    const way: Way = {
      before: from.way,
      text: `${event}${guesses.length > 0 ? ` [${guesses.join(', ')}]` : ''} → ${stateText(to.snapshot.value)}`,
      // No call ends twice.
      isCertain: guesses.length === 0 && (from.way?.isCertain ?? true) && open.every((count) => count >= 0),
      open,
      event,
      state: to.snapshot.value,
    }
    const step: PolicyStep = {
      event,
      seen: {
        has: (type) => {
          if (!watched.has(type)) events.check('A claim', type)
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
    const base = { snapshot, isOver, open: from.open }
    if (snapshot.hasTag('hold'))
      return take(from, own ?? `${item.event} asked`, { ...base, pending: item }, guesses)
    const isRefused = item.kind !== 'report' && snapshot.hasTag('refuse')
    if (isRefused) return refuse(from, item, { ...base, pending: null }, guesses)
    for (const open of counts.after(from.open, item.change))
      take(from, item.event, { ...base, open, pending: null }, guesses, item.change)
  }

  const refuse = (from: Node, item: Item, to: Omit<Node, 'seen' | 'way'>, guesses: readonly string[]) => {
    // A call that is refused does not begin; a result that is withheld is still its end.
    const change = item.change?.by === 1 ? undefined : item.change
    for (const open of counts.after(to.open, change)) {
      // The run fails, and the next one of the conversation continues from here.
      if (item.refused === null) take(from, `${item.event} refused`, { ...to, open }, guesses, change)
      else if (to.isOver) take(from, item.refused, { ...to, open }, guesses, change)
      else
        for (const { snapshot, guesses: more } of tried(to.snapshot, item.refused)) {
          const isOver = snapshot.status === 'done'
          take(from, item.refused, { ...to, open, snapshot, isOver }, [...guesses, ...more], change)
        }
    }
  }

  /** The node after the end of a check that lets an item go on: claims may ask for that end. */
  const ended = (node: Node, label: string, { snapshot }: ModelStep): Node => {
    if (snapshot.hasTag('hold') || !watched.has(label) || node.seen.includes(label)) return node
    return { ...node, seen: [...node.seen, label].toSorted() }
  }

  let steps = 0
  // The steps are limited with the states: one state may have a thousand events, and one event as many guards.
  const count = (): void => {
    steps += 1
    if (steps > maxStates * stepsPerState)
      throw new RangeError(`more than ${maxStates * stepsPerState} steps`)
  }
  const tried = (snapshot: AnyMachineSnapshot, type: string): ModelStep[] =>
    stepsOn(model, snapshot, { type }, count)

  const expand = (node: Node) => {
    const { snapshot, isOver, pending } = node
    if (!isOver) {
      // A run may end while the policy holds it: the next one continues without the item.
      if (pending) visit({ ...node, pending: null })
      for (const { type, label, path } of model.own) {
        if (!isActive(snapshot.value, path)) continue
        for (const found of tried(snapshot, type)) {
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
        // The option `others` may refuse a call that no state mentions.
        if (item.change?.by === 1)
          refuse(node, item, { snapshot, isOver, open: node.open, pending: null }, ['others: refuse'])
        continue
      }
      const steps = isOver ? [{ snapshot, guesses: [], isTaken: false }] : tried(snapshot, item.event)
      for (const step of steps) {
        if (step.isTaken || item.kind !== 'ask') settle(node, item, step)
        else refuse(node, item, { snapshot, isOver, open: node.open, pending: null }, step.guesses)
      }
    }
  }

  try {
    for (const { snapshot } of firstSteps(model))
      visit({ snapshot, isOver: snapshot.status === 'done', pending: null, open: none, seen: [], way: null })
    for (let node = queue.shift(); node; node = queue.shift()) {
      if (known.size > maxStates) throw new RangeError(`more than ${maxStates} states`)
      expand(node)
    }
  } catch (thrown) {
    if (thrown instanceof TooManyGuesses || model.oracle.isSpent)
      notes.push('transitions that may go round for ever are not followed')
    else if (thrown instanceof RangeError) notes.push(`it has ${thrown.message}`)
    else throw thrown
  }
  const proved = claims.map(({ kind, name }): ProvedClaim => {
    const way = witnesses.get(`${kind} ${name}`)
    const isWanted = kind === 'reachable'
    if (!way) return { name, kind, verdict: notes.length > 0 ? 'unknown' : isWanted ? 'refuted' : 'proved' }
    const verdict = way.isCertain ? (isWanted ? 'proved' : 'refuted') : 'possible'
    const ways = waysTo(way)
    const steps = ways.map(({ event, state }) => ({ event, state }))
    return { name, kind, verdict, witness: ways.map(({ text }) => text), steps }
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

/** The end of a check or a delay, in words: whether it comes is not certain. */
const endText = (type: string): string =>
  type
    .replace(/^xstate\.done\.actor\./, 'ended: ')
    .replace(/^xstate\.error\.actor\./, 'failed: ')
    .replace(/^xstate\.after\./, 'after ')

const waysTo = (way: Way): Way[] => [...(way.before ? waysTo(way.before) : []), way]

const stateText = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value).replace(/["{}]/g, '').replaceAll(':', '.')
