import type { Edit } from './xstateCopy.ts'

/**
 * Changes of XState's inside that its next release could make: its own behaviour and its published types stay as they
 * are. `hidden` names what is then no longer where it was, as `insides.ts` names it.
 */
export type Shuffle = {
  edits: readonly Edit[]
  hidden: readonly string[]
  /** It changes the same lines as another one, so that both cannot be had at once. */
  isAlone?: true
}

const renamed = (name: string, other: string): Edit => [new RegExp(`\\b${name}\\b`, 'g'), other]

/** Fields of the class that no other code can see any more. */
const madePrivate = (...names: string[]): Edit[] => [
  [/^class Actor \{$/gm, `class Actor {\n${names.map((name) => `  #${name.replace(/^_/, '')};`).join('\n')}`],
  ...names.map((name): Edit => [new RegExp(`\\bthis\\.${name}\\b`, 'g'), `this.#${name.replace(/^_/, '')}`]),
]

export const shuffles: Record<string, Shuffle> = {
  'what emit hands from its first half to its second has another shape': {
    edits: [
      [
        /\{\s*event: resolvedEvent\s*\}, undefined\];\s*\}\s*function executeEmit\(actorScope, \{\s*event\s*\}\)/g,
        '{ wrapped: [resolvedEvent] }, undefined];\n}\nfunction executeEmit(actorScope, { wrapped: [event] })',
      ],
    ],
    hidden: ['emit.params.event'],
  },

  'the fields of built-in actions have other names': {
    edits: [
      [/\.resolve = resolve/g, '.settle = resolve'],
      [/\.execute = execute/g, '.perform = execute'],
      [/\.retryResolve = /g, '.settleAgain = '],
      [/builtinAction\.resolve\(/g, 'builtinAction.settle('],
      [/builtinAction\.execute\b/g, 'builtinAction.perform'],
      [/builtinAction\.retryResolve\(/g, 'builtinAction.settleAgain('],
      [/'(resolve|execute|retryResolve)' in /g, 'builtinFields.$1 in '],
      [
        /^(?=function resolveAndExecuteActionsWithContext\(|const toSerializableAction = |const validateState = )/gm,
        "const builtinFields = { resolve: 'settle', execute: 'perform', retryResolve: 'settleAgain' };\n",
      ],
      [/enqueueActions\.collect = /g, 'enqueueActions.gather = '],
      [/\{\s*collect\s*\}\) \{/g, '{ gather: collect }) {'],
      [/assign\.assignment = /g, 'assign.change = '],
      [/\{\s*assignment\s*\}\) \{/g, '{ change: assignment }) {'],
    ],
    hidden: ['assign.resolve', 'assign.assignment', 'emit.resolve', 'emit.execute', 'enqueueActions.collect'],
  },

  'a snapshot has its methods from its prototype': {
    edits: [
      [
        /^function createMachineSnapshot\(config, machine\) \{\s*return \{/gm,
        'function createMachineSnapshot(config, machine) {\n  return Object.assign(Object.create(snapshotMethods), {',
      ],
      [/,\s*matches: machineSnapshotMatches,[^}]*\};/g, ' });'],
      [
        /^(?=function createMachineSnapshot\()/gm,
        'const snapshotMethods = { matches: machineSnapshotMatches, hasTag: machineSnapshotHasTag, can: machineSnapshotCan, getMeta: machineSnapshotGetMeta, toJSON: machineSnapshotToJSON };\n',
      ],
      // A snapshot that an error was written on keeps its methods.
      [
        /this\._snapshot = \{\s*\.\.\.(this\._snapshot|snapshot),([^}]*)\};/g,
        'this._snapshot = Object.assign(Object.create(Object.getPrototypeOf($1)), $1, {$2});',
      ],
    ],
    hidden: ['snapshot.matches', 'snapshot.hasTag', 'snapshot.can', 'snapshot.getMeta', 'snapshot.toJSON'],
  },

  'snapshots cannot be changed': {
    edits: [
      [
        /^function createMachineSnapshot\(config, machine\) \{\s*return (\{[^{}]*(?:\{\}[^{}]*)*\});/gm,
        'function createMachineSnapshot(config, machine) {\n  return Object.freeze($1);',
      ],
    ],
    hidden: ['snapshot can be changed'],
    isAlone: true,
  },

  'the active nodes of a snapshot have another name': {
    edits: [renamed('_nodes', '_active')],
    hidden: ['snapshot._nodes'],
  },

  'the listeners of an actor are kept outside of it': {
    edits: [
      [/this\.eventListeners = new Map\(\);/g, 'listenersOf.set(this, new Map());'],
      [/this\.eventListeners\b/g, 'listenersOf.get(this)'],
      [/^(?=class Actor \{)/gm, 'const listenersOf = new WeakMap();\n'],
    ],
    hidden: ['actor.eventListeners'],
  },

  'inspectors are called by a function of another name': {
    edits: [renamed('_sendInspectionEvent', '_reportInspection')],
    hidden: ['system._sendInspectionEvent'],
  },

  'what an actor puts off, its progress and its end have other names': {
    edits: [
      renamed('_deferred', '_later'),
      renamed('_processingStatus', '_progress'),
      renamed('_doneEvent', '_end'),
    ],
    hidden: ['actor._deferred', 'actor._processingStatus', 'actor._doneEvent'],
  },

  'the methods of a machine need their machine': {
    edits: [
      [
        /^\s*this\.(\w+) = this\.\1\.bind\(this\);\n(?=\s*this\.(?:\w+ = this\.\w+\.bind|root = new StateNode))/gm,
        '',
      ],
      [/const \{\s*transition\s*\} = logic;/g, 'const transition = (...args) => logic.transition(...args);'],
    ],
    hidden: ['machine.transition', 'machine.getInitialSnapshot', 'machine.restoreSnapshot', 'machine.start'],
  },

  'what keeps a parent up to date has another name, in storage, too': {
    edits: [
      [/syncSnapshot: options\?\.syncSnapshot/g, 'mirrored: options?.syncSnapshot'],
      [/syncSnapshot: actorData\.syncSnapshot/g, 'mirrored: actorData.mirrored'],
      [/syncSnapshot: child\._syncSnapshot/g, 'mirrored: child._mirrored'],
      [/(parent,\s*)syncSnapshot(,\s*id,)/g, '$1mirrored: syncSnapshot$2'],
      [/(parent: actorScope\.self,\s*)syncSnapshot,/g, '$1mirrored: syncSnapshot,'],
      [/this\._syncSnapshot\b/g, 'this._mirrored'],
    ],
    hidden: ['actor._syncSnapshot', 'stored child.syncSnapshot'],
  },

  'a scope makes its functions when they are asked for': {
    edits: [
      [
        /this\._actorScope = \{\n([\s\S]*?)\n {4}\};\n\n {4}\/\/ Ensure that the send/g,
        'const made = {\n$1\n    };\n    this._actorScope = Object.create(Object.defineProperties({}, Object.fromEntries(Object.keys(made).map(key => [key, { get: () => made[key], set: it => { made[key] = it } }]))));\n\n    // Ensure that the send',
      ],
    ],
    hidden: ['scope.emit', 'scope.defer'],
  },

  'the scope of an actor has another name': {
    edits: [[/this\._actorScope\b/g, 'this._reach']],
    hidden: ['actor._actorScope'],
  },

  'actors are stopped by an event of another name': {
    edits: [[/'xstate\.stop'/g, "'xstate.halt'"]],
    hidden: ['event xstate.stop'],
  },

  'the mailbox, the observers, the scope and what is put off are private for real': {
    edits: madePrivate('mailbox', 'observers', '_actorScope', '_deferred', '_doneEvent'),
    hidden: ['actor.mailbox', 'actor.observers', 'actor._actorScope', 'actor._deferred', 'actor._doneEvent'],
    isAlone: true,
  },

  'what only actors and their system call has other names': {
    edits: [
      ...['_relay', '_bookId', '_register', '_unregister', '_set'].map((name) =>
        renamed(name, `${name}Actor`),
      ),
      ...['_send', '_stop', '_process', '_stopProcedure', '_error'].map((name) =>
        renamed(name, `${name}Itself`),
      ),
    ],
    hidden: ['system._relay', 'system._bookId', 'actor._send', 'actor._stop', 'actor._process'],
  },

  'the current snapshot of an actor and the index of a machine have other names': {
    edits: [renamed('_snapshot', '_held'), renamed('idMap', 'byId'), renamed('__xstatenode', '__isNode')],
    hidden: ['actor._snapshot', 'machine.idMap', 'machine.__xstatenode'],
  },
}

const compatible = Object.values(shuffles).filter(({ isAlone }) => !isAlone)

export const everythingTogether: Shuffle = {
  edits: compatible.flatMap(({ edits }) => edits),
  hidden: compatible.flatMap(({ hidden }) => hidden),
}
