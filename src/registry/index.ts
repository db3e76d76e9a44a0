/**
 * The registry of all providers, for pages: with `import 'statewire/registry'`, a model string may name any of them. Elsewhere
 * `statewire` has loaded it already.
 *
 * @module statewire/registry
 */

import { loadRegistry } from '../../providers/registry.ts'

loadRegistry()

export { listModels, listProviders, uploadFile } from '../../providers/registry.ts'
