import { expectTypeOf, test } from 'vitest'
import type { EventFrom, SnapshotFrom, TagsFrom } from 'xstate'
import type { chartOf } from '../../machines/agent/chart.ts'
import type { AgentEvent, AgentSnapshot, AgentStateValue, StreamingState } from '../../machines/index.ts'

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

test('a state that one of them lacks is noticed', () => {
  expectTypeOf<AgentStateValue | 'Pondering'>().not.toEqualTypeOf<ChartSnapshot['value']>()
  expectTypeOf<Exclude<AgentStateValue, 'AtLimit'>>().not.toEqualTypeOf<ChartSnapshot['value']>()
})
