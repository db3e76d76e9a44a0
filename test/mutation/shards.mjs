// What `npm run mutate` changes, in parts that take less than an hour each on two cores, and the tests that may notice.

const charts = [
  'test/{engine,orchestrators,machines,api}/**/*.test.ts',
  'test/proof/{aborts,callbacks,hostileTools,hostileUsers,statuses,toolMischief,waits}.test.ts',
]
const wires = ['test/{providers,hostile,recordings}/**/*.test.ts']

/** By name: the files that are changed, and the tests that are run. Rooms, not files: those come and go. */
export const shards = {
  lifecycle: { mutate: ['machines/{agent,model,logic}/**/*.ts', '!machines/agent/limit*.ts'], tests: charts },
  rounds: { mutate: ['machines/tools/**/*.ts'], tests: charts },
  limits: { mutate: ['machines/compaction/**/*.ts', 'machines/agent/limit*.ts'], tests: charts },
  orchestrators: { mutate: ['machines/orchestrators/**/*.ts'], tests: charts },
  storing: { mutate: ['machines/stored/**/*.ts'], tests: [...charts, 'test/stored/*.test.ts'] },
  messages: {
    mutate: ['src/{messages,model,tools}/*.ts'],
    tests: ['test/{engine,api,schema,stored,models}/**/*.test.ts', 'test/providers/**/*.test.ts'],
  },
  agent: { mutate: ['src/agent/*.ts'], tests: charts },
  durable: { mutate: ['src/durable/**/*.ts'], tests: ['test/durable/*.test.ts'] },
  decoders: { mutate: ['providers/wire/**/*.ts', 'providers/*/{decoder,error,replay}*.ts'], tests: wires },
  connections: {
    mutate: ['providers/*.ts', 'providers/http/**/*.ts'],
    // Tests that register providers of their own, or take undici away, would change what the others find.
    tests: [
      'test/{providers,transport,models}/**/!(withoutUndici).test.ts',
      'test/presets/!(ownProvider|registerProvider).test.ts',
      'test/proof/connections.test.ts',
    ],
  },
  handlers: { mutate: ['src/ui/**/*.ts'], tests: ['test/ui/**/*.test.ts'] },
}
