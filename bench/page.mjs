// A page of the inspector without a browser: asks for what a page asks for, follows the events, and forgets them.
import { once } from 'node:events'

const [address] = await once(process, 'message')
const textOf = async (path) => (await fetch(new URL(path, address))).text()

const loaded = new Set()
const load = async (file) => {
  if (loaded.has(file)) return
  loaded.add(file)
  const names = (await textOf(file)).matchAll(/(?:href="|src="|from '\.\/)(\w+\.(?:css|js))/g)
  await Promise.all([...names].map(([, name]) => load(name)))
}

await load('')
const { body } = await fetch(new URL('events', address))
process.send('open')
for await (const _ of body);
