import { describe, test } from 'vitest'
import type { JsonObject } from '../../src/messages/json.ts'
import { callHabits, expectCalls } from './callHabits.ts'
import { type CallPiece, callChunk, chatEvents, mistral, openai } from './chatWire.ts'
import { cohere, cohereEnd, coherePiece, cohereStart } from './otherWires.ts'
import { sse, type Wire } from './wire.ts'

// Tool calls that come in pieces, put together whatever the server's habit: rows 1 to 11 and 13 of the list of wire
// failures and the tool rows of its matrix, on the three wires that share these habits.

const cohereEvents = (pieces: CallPiece[][]): JsonObject[] => {
  const open = new Set<number | null | undefined>()
  const end = (index: number | null | undefined): JsonObject => ({
    type: 'tool-call-end',
    ...(index !== undefined && { index }),
  })
  const events = pieces.flat().flatMap(({ index, ...call }): JsonObject[] => {
    const piece = coherePiece(call.name ? 'tool-call-start' : 'tool-call-delta', index, call)
    const isOver = call.name && open.has(index)
    open.add(index)
    return isOver ? [end(index), piece] : [piece]
  })
  return [...events, ...[...open].map(end)]
}

const wires: [Wire, (pieces: CallPiece[][]) => string[]][] = [
  [
    openai,
    (pieces) =>
      chatEvents(
        pieces.map((each) => callChunk(...each)),
        'tool_calls',
      ),
  ],
  [
    mistral,
    (pieces) =>
      chatEvents(
        pieces.map((each) => callChunk(...each)),
        'tool_calls',
      ),
  ],
  [cohere, (pieces) => sse(cohereStart, ...cohereEvents(pieces), cohereEnd('TOOL_CALL'))],
]

describe.each(wires)('$model', (wire, eventsOf) => {
  test.each(callHabits)('$promise', (habit) => expectCalls(wire, eventsOf(habit.pieces), habit))
})
