import { type Tool, tool } from '../../src/index.ts'
import { decode } from './decoding.ts'
import { fixtures, recordings } from './subjects.ts'

export type Ran = { id: string; name: string }

const toolNames = new Set(
  [...fixtures, ...recordings].flatMap((subject) =>
    decode(subject, subject.body).accumulated.calls.map(({ name }) => name),
  ),
)

/** Every tool that any of the recordings calls; each writes down that it ran. */
export const recordedTools = (ran: Ran[]): Tool[] =>
  [...toolNames]
    .filter((name) => /^\S{1,128}$/.test(name))
    .map((name) =>
      tool({
        name,
        description: 'Recorded',
        input: { jsonSchema: { type: 'object' } },
        execute: (_, { callId }) => {
          ran.push({ id: callId, name })
          return 'ok'
        },
      }),
    )
