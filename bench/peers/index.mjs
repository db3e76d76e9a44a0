import { existsSync, readFileSync } from 'node:fs'

/** Every peer is a file here of the same name, and measured by the package that it is. */
export const peers = {
  openai: 'openai',
  xsai: 'xsai',
  pi: '@earendil-works/pi-agent-core',
  'openai-agents': '@openai/agents',
  'ai-sdk': 'ai',
  'tanstack-ai': '@tanstack/ai',
  mastra: '@mastra/core',
  langgraph: '@langchain/langgraph',
  'statelyai-agent': '@statelyai/agent',
  'plain-xstate': 'xstate',
}

const installed = new URL('./node_modules/', import.meta.url)

export const areInstalled = () => existsSync(installed)

export const versionOf = (peer) =>
  JSON.parse(readFileSync(new URL(`${peers[peer]}/package.json`, installed), 'utf8')).version
