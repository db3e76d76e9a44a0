import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { fromRegistry } from '../test/fromRegistry.ts'
import { oldest } from '../test/xstate/xstateRange.ts'
import './bareEnvironment.ts'

const version = process.env.XSTATE ?? oldest
const found = await fromRegistry('xstate', version)
if ('problem' in found) throw new Error(found.problem)
console.log(`XState ${version}`)

/** `npm run test:xstate`: the charts and the engine on another XState, the oldest of the peer range unless `XSTATE` names one. */
export default defineConfig({
  resolve: {
    alias: [
      { find: /^xstate$/, replacement: `${found.folder}/dist/xstate.development.esm.js` },
      { find: /^xstate\/(.+)$/, replacement: `${found.folder}/$1/dist/xstate-$1.development.esm.js` },
    ],
  },
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    setupFiles: 'test/registry.ts',
    include: ['test/{api,engine,machines,orchestrators,policy,proof,durable}/**/*.test.ts'],
    // These start processes of their own, which would not see it.
    exclude: ['**/{crashes,approvalProcess,exhaustive,kills,processes}.test.ts'],
    server: { deps: { inline: ['@xstate/graph'] } },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    maxWorkers: 2,
  },
})
