import { edgeBundle, pageBundle } from '../weight/bundles.mjs'
import { coreInstall } from '../weight/coreInstall.mjs'

/** Importing it; the floor is what it depends on. */
export const load = () => [
  {
    id: 'load',
    title: 'import',
    contenders: ['floor', 'statewire'],
    job: { task: 'load' },
    values: {
      cpu: { name: 'processor time', unit: 'ms', goal: { ratio: 1.5, to: 'floor' } },
      wall: { name: 'time', unit: 'ms', goal: { ratio: 1.5, to: 'floor' } },
    },
  },
]

export const install = () => [
  {
    id: 'install',
    title: 'core install',
    contenders: ['statewire'],
    look: coreInstall,
    values: {
      packages: { name: 'packages', unit: 'packages', goal: { most: 6 } },
      size: { name: 'size', unit: 'MB', goal: { most: 16 } },
    },
  },
]

export const edge = () => [
  {
    id: 'page',
    title: 'page bundle, one provider',
    contenders: ['statewire'],
    look: pageBundle,
    values: {
      size: { name: 'gzip', unit: 'KB', goal: { most: 70 } },
      fromNode: { name: 'imports of Node’s own modules', unit: 'modules', goal: { most: 0 } },
    },
  },
  {
    id: 'edge',
    title: 'edge bundle, all providers',
    contenders: ['statewire'],
    look: edgeBundle,
    values: {
      size: { name: 'gzip', unit: 'KB', goal: { most: 175 } },
      fromNode: { name: 'imports of Node’s own modules', unit: 'modules', goal: { most: 0 } },
    },
  },
]
