import { existsSync, readFileSync } from 'node:fs'

/**
 * Every peer is a file here of the same name. Its packages are what that file needs, the one it is known by first;
 * `note` says what a reader of its figures should know. One that is `unlocked` is not in the lock file, in this version.
 */
export const peers = {
  openai: { packages: ['openai'] },
  xsai: { packages: ['xsai'] },
  pi: {
    packages: ['@earendil-works/pi-agent-core', '@earendil-works/pi-ai'],
    // It needs @earendil-works/pi-schema, which the registry did not have on 2026-11-19.
    unlocked: '1.5.2',
  },
  'openai-agents': { packages: ['@openai/agents', 'openai'] },
  'ai-sdk': { packages: ['ai', '@ai-sdk/openai'] },
  'tanstack-ai': { packages: ['@tanstack/ai', '@tanstack/ai-openai'] },
  mastra: { packages: ['@mastra/core'] },
  // Its newest release, 1.7.3, needs a core that the registry did not have on 2026-11-19.
  langgraph: { packages: ['@langchain/langgraph', '@langchain/openai', '@langchain/core'] },
  'statelyai-agent': { packages: ['@statelyai/agent'] },
  'plain-xstate': { packages: ['xstate'] },
}

const installed = new URL('./node_modules/', import.meta.url)

export const areInstalled = () => existsSync(installed)

const manifestOf = (name) => {
  const path = new URL(`${name}/package.json`, installed)
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined
}

/** The packages of a peer that are not there. */
export const missingPackages = (peer) => peers[peer].packages.filter((name) => !manifestOf(name))

export const versionOf = (peer) => manifestOf(peers[peer].packages[0])?.version

/** Why a peer cannot be measured on this Node; undefined if it can. What it does where it need not run is no figure. */
export const reasonToSkip = (peer, nodeVersion) =>
  peers[peer].packages
    .map((name) => {
      const manifest = manifestOf(name)
      if (!manifest) return `${name} is not installed`
      const range = manifest.engines?.node
      return isOldFor(range, nodeVersion)
        ? `${name} ${manifest.version} needs Node ${range}, measured is ${nodeVersion}`
        : undefined
    })
    .find((reason) => reason !== undefined)

/** Compares a Node with a range like `>=22.13`. Packages that say it in another way are just tried. */
export const isOldFor = (range, nodeVersion) => {
  const least = /^>=\s*(\d+(?:\.\d+)*)$/.exec(range ?? '')?.[1]
  return least !== undefined && compare(numbersOf(nodeVersion.replace(/^v/, '')), numbersOf(least)) < 0
}

const numbersOf = (version) => version.split('.').map((part) => Number.parseInt(part, 10))

const compare = (a, b) => {
  const index = b.findIndex((part, at) => part !== (a[at] ?? 0))
  return index === -1 ? 0 : (a[index] ?? 0) - b[index]
}
