import { Conversation } from '../chat/Conversation.ts'
import type { Command } from '../command.ts'
import { demoAgent, demoPrompt } from '../demo/demoAgent.ts'
import { openBrowser } from '../openBrowser.ts'

export const demo: Command = {
  name: 'demo',
  summary: 'Shows an agent at work, without a key or a network',
  operands: '',
  options: { 'no-open': { type: 'boolean', about: 'do not open a browser' } },
  details: [
    'A simulator stands in for the model. There are tools that take their time, a',
    'request that fails and is tried again, and a call that needs your approval. It',
    'takes about a minute; then you can ask more. Without a terminal it is quick,',
    'allows the call, and ends with the result.',
  ],
  run: async (invocation) => {
    const { screen, stdin, env, values } = invocation
    const isWatched = stdin.isTTY === true && screen.isTerminal
    const [{ startInspector }, { startSimulator }] = await Promise.all([
      import('../../inspector/index.ts'),
      import('../../simulator/index.ts'),
    ])
    const simulator = await startSimulator({ delayMs: isWatched ? 150 : 0 })
    const inspector = await startInspector()
    const isOpened = isWatched && values['no-open'] !== true && (await openBrowser(inspector.url, env))
    const { inspect, url } = inspector
    const agent = demoAgent({ baseUrl: simulator.baseUrl, inspect, pace: isWatched ? 1 : 0 })
    const said = [
      `An agent plans a trip. ${isOpened ? 'Your browser shows it' : 'Watch it in a browser'}: ${url}`,
      'No key, no network: a simulator answers. One request fails, and is tried again.',
      isWatched
        ? 'Within a minute it asks before it books a train: answer here, or on the page.'
        : 'There is no terminal to ask: it is quick, and books the train without approval.',
    ].join('\n')
    const close = async () => {
      await Promise.all([inspector.close(), simulator.close()])
    }
    const asked = { ...invocation, values: { approve: !isWatched } }
    const conversation = new Conversation(asked, { make: () => agent, said, close }, { file: 'The demo' })
    try {
      return await conversation.hold(demoPrompt)
    } finally {
      await conversation.close()
    }
  },
}
