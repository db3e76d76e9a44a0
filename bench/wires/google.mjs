import { weather } from '../tool.mjs'
import { callsOf, idOf, piece, usage } from './text.mjs'

const counts = (chunks) => {
  const { input, output, total } = usage(chunks)
  return {
    promptTokenCount: input,
    candidatesTokenCount: output,
    totalTokenCount: total,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: input }],
  }
}

const chunk = (round, parts, chunks, rest = {}) =>
  `data: ${JSON.stringify({
    candidates: [{ content: { parts, role: 'model' }, index: 0, ...rest }],
    usageMetadata: counts(chunks),
    modelVersion: 'gemini-2.5-flash',
    responseId: idOf('AqXiaImDB5mdnvgPr8', round),
  })}\r\n\r\n`

const callParts = (round, count) =>
  callsOf(round, count).map(({ name, arguments: whole }) => ({
    functionCall: { name, args: JSON.parse(whole) },
  }))

export const google = {
  name: 'google',
  model: 'google:gemini-2.5-flash',
  base: '/v1beta',
  path: '/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
  framing: 'sse',

  opening: () => [],
  text: (index, round) => chunk(round, [{ text: piece(index) }], index),
  closing: (chunks, round) => [chunk(round, [{ text: '' }], chunks, { finishReason: 'STOP' })],
  calls: (round, count) => [
    ...callParts(round, count).map((part) => chunk(round, [part], 0)),
    chunk(round, [{ text: '' }], count, { finishReason: 'STOP' }),
  ],
  resultsIn: ({ contents }) =>
    contents.flatMap(({ parts }) => parts).filter((part) => part.functionResponse).length,

  start: (prompt) => [{ role: 'user', parts: [{ text: prompt }] }],
  request: (contents, hasTools) => ({
    contents,
    ...(hasTools && {
      tools: [
        {
          functionDeclarations: [
            {
              name: weather.name,
              description: weather.description,
              parametersJsonSchema: weather.parameters,
            },
          ],
        },
      ],
    }),
  }),
  read: (text, answer) => {
    for (const part of JSON.parse(text).candidates[0].content.parts) {
      if (part.text) answer.add(part.text)
      else if (part.functionCall) {
        const { name, args } = part.functionCall
        answer.calls.push({ name, input: args })
      }
    }
  },
  next: (contents, { calls }, results) => [
    ...contents,
    { role: 'model', parts: calls.map(({ name, input }) => ({ functionCall: { name, args: input } })) },
    {
      role: 'user',
      parts: calls.map(({ name }, index) => ({
        functionResponse: { name, response: JSON.parse(results[index]) },
      })),
    },
  ],
}
