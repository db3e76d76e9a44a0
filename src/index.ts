/**
 * Agents, chats, tools, results and errors: what most programs need. A model string may name any provider.
 *
 * @module statewire
 */

import { loadRegistry } from '../providers/registry.ts'

export * from './core/index.ts'

loadRegistry()
