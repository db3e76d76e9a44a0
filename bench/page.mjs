// A page of the inspector without a browser: follows what it is told, and forgets it.
const { body } = await fetch(process.argv[2])
process.send('open')
for await (const _ of body);
