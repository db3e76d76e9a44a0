import type { AnyStateMachine, AnyStateNode } from 'xstate'
import { isActive } from './policyModel.ts'

/** Finds mistakes that policies often have. Each finding is a sentence that says what to write instead. */
export const lintPolicy = ({ root }: AnyStateMachine): string[] => nodesOf(root).flatMap(lintsOf)

const nodesOf = (node: AnyStateNode): AnyStateNode[] => [node, ...Object.values(node.states).flatMap(nodesOf)]

const nameOf = ({ path }: AnyStateNode): string =>
  path.length === 0 ? 'The root' : `The state ${path.join('.')}`

const lintsOf = (node: AnyStateNode): string[] => [
  ...regionLints(node),
  ...tagLints(node),
  ...(Object.keys(Object(node.config.after)).length > 0
    ? [
        `${nameOf(node)} has "after", which is lost when a run is restored: invoke a promise that waits instead.`,
      ]
    : []),
  ...forbidden(node),
  ...openings(node),
]

/** Finds regions that permit the same call: it passes if any of them takes it. */
const regionLints = (node: AnyStateNode): string[] => {
  if (node.type !== 'parallel') return []
  const regions = Object.values(node.states)
  const calls = regions.map((region) => [...new Set(nodesOf(region).flatMap(({ ownEvents }) => ownEvents))])
  const shared = new Set(calls.flat().filter((type) => calls.filter((own) => own.includes(type)).length > 1))
  return [...shared]
    .filter((type) => type.endsWith('.call') || type.endsWith('*'))
    .map(
      (type) =>
        `${nameOf(node)} handles '${type}' in several regions: the call passes if any of them takes it. Let a region forbid it with a state tagged "refuse".`,
    )
}

const tagLints = (node: AnyStateNode): string[] => {
  const { tags, type, config } = node
  const events = eventsFrom(node)
  const isLeft = (suffix: string) => events.some((each) => each.endsWith(suffix) || each.endsWith('*'))
  const found: string[] = []
  if (tags.includes('refuse') && type !== 'final' && !isLeft('.refused') && events.length === 0)
    found.push(
      `${nameOf(node)} is tagged "refuse", and nothing leaves it: handle '<tool>.refused' or make it final.`,
    )
  if (tags.includes('approval') && !isLeft('.call') && !isLeft('.approved') && !isLeft('.rejected'))
    found.push(
      `${nameOf(node)} is tagged "approval", but takes no call and is not left when a person has decided: handle '<tool>.call', or '<tool>.approved' and '<tool>.rejected'.`,
    )
  const hasWork = (each: AnyStateNode): boolean => each.invoke.length > 0 || each.config.after !== undefined
  if (
    tags.includes('hold') &&
    type !== 'final' &&
    ![...lineOf(node), ...nodesOf(node)].some(hasWork) &&
    !config.always
  )
    found.push(
      `${nameOf(node)} is tagged "hold", but invokes nothing that ends: the run would fail after holdMs.`,
    )
  for (const { id, src } of tags.includes('hold') ? node.invoke : [])
    if (!events.some((each) => each === `xstate.error.actor.${id}`))
      found.push(
        `${nameOf(node)} has no onError for its check "${String(src)}": if it rejects, the run fails.`,
      )
  return found
}

/** Finds transitions that take nothing: XState reads them as forbidden. */
const forbidden = (node: AnyStateNode): string[] =>
  Object.entries(Object(node.config.on)).flatMap(([type, given]) => {
    const isEmpty = typeof given === 'object' && given !== null && Object.keys(given).length === 0
    return isEmpty && type.endsWith('.call')
      ? [
          `${nameOf(node)} has an empty transition for '${type}', which refuses it: give it an action or a target.`,
        ]
      : []
  })

/** Finds what lets more pass than it seems: a tag that no run looks at, a wildcard, and a check that nothing waits for. */
const openings = (node: AnyStateNode): string[] => {
  const misspelled = node.tags.flatMap((tag) => {
    const meant = ['hold', 'approval', 'refuse'].find((each) => stemOf(each) === stemOf(tag) && each !== tag)
    return meant ? [`${nameOf(node)} has the tag "${tag}", which no run looks at: write "${meant}".`] : []
  })
  const all = node.ownEvents.includes('*')
    ? [`${nameOf(node)} handles '*': it takes every call, also of tools that come later. Name the events.`]
    : []
  const isHeld = lineOf(node).some(({ tags }) => tags.includes('hold'))
  const loose = isHeld
    ? []
    : node.invoke.map(
        ({ id, src }) =>
          `${nameOf(node)} invokes "${typeof src === 'string' ? src : id}" and is not tagged "hold": calls pass while it runs.`,
      )
  return [...misspelled, ...all, ...loose]
}

const stemOf = (tag: string): string => tag.toLowerCase().slice(0, 4)

const lineOf = (node: AnyStateNode): AnyStateNode[] => [node, ...(node.parent ? lineOf(node.parent) : [])]

/** The events that a state or one around it handles. */
const eventsFrom = (node: AnyStateNode): string[] => [
  ...new Set(lineOf(node).flatMap(({ ownEvents }) => ownEvents)),
]

/** The innermost states that no run reaches. */
export const unreachable = (root: AnyStateNode, states: ReadonlySet<string>): string[] => {
  const values = [...states].map((each): unknown => JSON.parse(each))
  return nodesOf(root)
    .filter(({ type }) => type !== 'history')
    .filter(({ path }) => !values.some((value) => isActive(value, path)))
    .map(({ path }) => `No run reaches the state ${path.join('.')}.`)
}
