/**
 * A contender is a module with `open({ wire, baseUrl, hasTools, typed? })`, which gives
 * `{ ask(prompt, { onText, signal }), answers?, close? }`: `answers` is how many of the provider's one question takes.
 */
const own = {
  floor: './floor.mjs',
  reader: './reader.mjs',
  statewire: './statewire.mjs',
  'statewire-actor': './statewireActor.mjs',
  'statewire-typed': './statewireTyped.mjs',
  'statewire-send-for': './statewireSendFor.mjs',
  'statewire-orchestrated': './statewireOrchestrated.mjs',
  'statewire-inspected': './statewireInspected.mjs',
  'statewire-watched': './statewireWatched.mjs',
  'statewire-sqlite-full': './statewireSqliteFull.mjs',
  'statewire-policy': './statewirePolicy.mjs',
  'statewire-listener': './statewireListener.mjs',
  'statewire-dbos': './statewireDbos.mjs',
  'statewire-sqlite-normal': './statewireSqliteNormal.mjs',
}

export const contenderNamed = (name) => import(own[name] ?? `../peers/${name}.mjs`)
