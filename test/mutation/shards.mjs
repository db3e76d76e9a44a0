// What `npm run mutate` changes, in parts that take less than an hour each on two cores, and the tests that may notice.

const charts = [
  'test/{engine,orchestrators,machines,api}/**/*.test.ts',
  'test/proof/{aborts,callbacks,hostileTools,hostileUsers,statuses,toolMischief,waits}.test.ts',
]
const wires = ['test/{providers,hostile,recordings}/**/*.test.ts']

/** What the decoders share. */
const readers =
  'contextOverflow,conversation,deltaBatch,toolCallAssembler,usageCounts,wireError,wireJson,withheldCall'

/** By name: the files that are changed, and the tests that are run. */
export const shards = {
  lifecycle: {
    mutate: [
      'machines/{agentMachine,agentSetup,agentFailures,agentOutput,streamingState,receiveDeltas,readLane,interruption}.ts',
    ],
    tests: charts,
  },
  rounds: {
    mutate: ['machines/tools/*.ts'],
    tests: charts,
  },
  limits: {
    mutate: [
      'machines/{limits,contextWindow,requestSize,summariser,summaryPrompt,stepCost,limitSentence}.ts',
    ],
    tests: charts,
  },
  orchestrators: {
    mutate: [
      'machines/{phasedMachine,phasedRun,reasoning,reflection,typedOutput,decision,decisionMachine,orchestrator,reportToParent,invokedRun,prepareStep}.ts',
    ],
    tests: charts,
  },
  storing: {
    mutate: [
      'machines/{storedState,storedPhases,snapshotVersion,migrations,shape,runMachine,runInput,runHost,runValues}.ts',
    ],
    tests: [...charts, 'test/stored/*.test.ts'],
  },
  messages: {
    mutate: ['src/{messages,model,tools}/*.ts'],
    tests: ['test/{engine,api,schema,stored,models}/**/*.test.ts', 'test/providers/**/*.test.ts'],
  },
  agent: { mutate: ['src/agent/*.ts'], tests: charts },
  durable: { mutate: ['src/durable/**/*.ts'], tests: ['test/durable/*.test.ts'] },
  decoders: {
    mutate: [
      `providers/{${readers}}.ts`,
      'providers/anthropic/{decoder,contentBlock,skeleton,usage}.ts',
      'providers/cohere/decoder.ts',
      'providers/google/{decoder,chunk,finishReason,functionCalls,partialArguments,skeleton,sources}.ts',
      'providers/ollama/decoder.ts',
      'providers/openai-chat/{chatDecoder,answerReader,chatContent,chatUsage,chunkError,finishReason,generatedMedia,reasoning,thinkSplitter}.ts',
      'providers/openai-responses/{decodeResponses,calls,itemContent,layout,outcome,outputItems}.ts',
    ],
    tests: wires,
  },
  connections: {
    mutate: ['providers/*.ts', `!providers/{${readers}}.ts`],
    // Tests that register providers of their own, or take undici away, would change what the others find.
    tests: [
      'test/{providers,transport,models}/**/!(withoutUndici).test.ts',
      'test/presets/!(ownProvider|registerProvider).test.ts',
      'test/proof/connections.test.ts',
    ],
  },
  handlers: { mutate: ['src/ui/**/*.ts'], tests: ['test/ui/*.test.ts'] },
}
