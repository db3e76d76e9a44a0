/** A contender is a module with `open({ wire, baseUrl, hasTools })`, which gives `{ ask(prompt, { onText, signal }), close? }`. */
const own = {
  floor: './floor.mjs',
  reader: './reader.mjs',
  statewire: './statewire.mjs',
  'statewire-actor': './statewireActor.mjs',
  'statewire-inspected': './statewireInspected.mjs',
  'statewire-watched': './statewireWatched.mjs',
}

export const contenderNamed = (name) => import(own[name] ?? `../peers/${name}.mjs`)
