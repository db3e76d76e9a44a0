import { expectTypeOf, test } from 'vitest'
import type { EventFrom, InputFrom, SnapshotFrom, TagsFrom } from 'xstate'
import type { chartOf } from '../../machines/agent/chart.ts'
import type {
  AgentActions,
  AgentChildren,
  AgentEvent,
  AgentGuards,
  AgentSnapshot,
  AgentStateValue,
  StreamingState,
} from '../../machines/index.ts'

// The types that users get are written out, and are those of the chart: a state that is added to one of them alone does not
// compile.
type Chart = ReturnType<typeof chartOf>
type ChartSnapshot = SnapshotFrom<Chart>

test('the states that users match are the states of the chart', () => {
  expectTypeOf<AgentStateValue>().toEqualTypeOf<ChartSnapshot['value']>()
  expectTypeOf<AgentSnapshot['value']>().toEqualTypeOf<AgentStateValue>()
})

test('the tags, the events and the data of a snapshot are those of the chart', () => {
  expectTypeOf<Parameters<AgentSnapshot['hasTag']>[0]>().toEqualTypeOf<TagsFrom<Chart>>()
  expectTypeOf<AgentEvent>().toEqualTypeOf<EventFrom<Chart>>()
  expectTypeOf<StreamingState>().toEqualTypeOf<ChartSnapshot['context']>()
})

type Parts = Required<Parameters<Chart['provide']>[0]>
/** The parameter of each part, as the chart has it. */
type ParamsIn<Kind extends 'guards' | 'actions'> = {
  [Name in keyof Parts[Kind]]-?: Parameter<Extract<Parts[Kind][Name], (...args: never) => unknown>>
}
// XState takes a part without parameters for one with any.
type Parameter<Part extends (...args: never) => unknown> = undefined extends Parameters<Part>[1]
  ? undefined
  : Parameters<Part>[1]

test('the parts that users provide are those of the chart', () => {
  expectTypeOf<keyof AgentGuards>().toEqualTypeOf<keyof Parts['guards']>()
  expectTypeOf<keyof AgentActions>().toEqualTypeOf<keyof Parts['actions']>()
  expectTypeOf<keyof AgentChildren>().toEqualTypeOf<keyof Parts['actors']>()
  expectTypeOf<{ [Name in keyof AgentGuards]: AgentGuards[Name] }>().toEqualTypeOf<ParamsIn<'guards'>>()
  expectTypeOf<{ [Name in keyof AgentActions]: AgentActions[Name] }>().toEqualTypeOf<ParamsIn<'actions'>>()
  expectTypeOf<AgentChildren>().toEqualTypeOf<{
    [Name in keyof Parts['actors']]-?: InputFrom<NonNullable<Parts['actors'][Name]>>
  }>()
})

test('a state that one of them lacks is noticed', () => {
  expectTypeOf<AgentStateValue | 'Pondering'>().not.toEqualTypeOf<ChartSnapshot['value']>()
  expectTypeOf<Exclude<AgentStateValue, 'AtLimit'>>().not.toEqualTypeOf<ChartSnapshot['value']>()
})
