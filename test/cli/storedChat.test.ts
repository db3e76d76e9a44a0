// Conversations that are kept in a file, with the command line killed in between.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { askSimulator, folder, statewire } from './spawned.ts'
import { owning } from './storedRuns.ts'
import { ctrlC, ctrlD, hasScript, Terminal } from './Terminal.ts'

const lines = (...turns: string[]) => turns.map((turn) => `${turn}\n`).join('')

describe('chat --db', () => {
  it('continues the last chat, or the one that is named', async () => {
    const cwd = await folder()
    const simulator = await askSimulator()
    const chat = (args: string[], ...turns: string[]) =>
      statewire(['chat', ...simulator, '--db', 'chats.db', ...args], { cwd, input: lines(...turns) })
    await chat(['--chat', 'ada'], 'My name is Ada')
    await chat([], 'My name is Bob')
    const last = await chat(['--continue'], 'What is my name?')
    expect([last.code, last.stdout]).toEqual([0, expect.stringContaining('you said “My name is Bob”.')])
    const named = await chat(['--chat', 'ada'], 'What is my name?', '/clear', 'What is my name?')
    const [answer, afterClear] = named.stdout.split('\n')
    expect(answer).toContain('Before that you said “My name is Ada”.')
    expect(afterClear).toMatch(/none of them fits “What is my name\?”\. I can call/)
    expect(named.stderr).toContain('Chat ada, 2 messages so far')
    expect(named.stderr).toContain('A new conversation begins; the other one is kept as ada.')
    expect(
      (await statewire(['runs', '--db', 'chats.db', '--json'], { cwd })).stdout.match(/"id":/g),
    ).toHaveLength(5)
  })

  it('keeps the conversation when the tools or the model change', async () => {
    const cwd = await folder()
    const turns = ['My name is Ada', '/tools off', '/model simulator', 'What is my name?']
    const { stdout, stderr } = await statewire(['chat', ...(await askSimulator()), '--db', 'chats.db'], {
      cwd,
      input: lines(...turns),
    })
    expect(stdout).toContain('Before that you said “My name is Ada”.')
    expect(stderr).toContain('Tools are off.')
  })

  it('says what is wrong with its options', async () => {
    const { cwd } = await owning([])
    const model = ['--model', 'simulator']
    const [first, nowhere] = [
      await statewire(['chat', ...model, '--db', 'new.db', '--continue'], { cwd }),
      await statewire(['chat', ...model, '--chat', 'work'], { cwd }),
    ]
    expect([first.code, nowhere.code]).toEqual([2, 2])
    expect(first.stderr).toContain('There is no chat in new.db yet: leave --continue out.')
    expect(nowhere.stderr).toContain('--chat needs the file of the conversations: --db chats.db')
    const shared = await statewire(['chat', ...model, '--db', 'runs.db'], { cwd })
    expect(shared.stderr).toContain('Another program runs runs.db')
  })
})

describe.skipIf(!hasScript)('chat --db at a terminal', () => {
  it('asks again about what was being asked when it was killed, and the call runs once', async () => {
    const cwd = await folder()
    await writeFile(join(cwd, 'a.txt'), 'First secret.')
    const args = ['chat', ...(await askSimulator()), '--db', 'chats.db']
    const first = new Terminal(args, { cwd })
    await first.sees(/> $/)
    first.types('Read a.txt\r')
    await first.sees(/Allow read_file\(path: a\.txt\)\? \[yes\/no\/edit\/always\] $/)
    await first.kill()
    const second = new Terminal([...args, '--continue'], { cwd })
    await second.sees(
      /Continues: Read a\.txt[\s\S]*Allow read_file\(path: a\.txt\)\? \[yes\/no\/edit\/always\] $/,
    )
    second.types(ctrlD)
    await second.sees(/Nothing was decided: --continue asks again\./)
    expect(await second.code).toBe(0)
    const third = new Terminal([...args, '--continue'], { cwd })
    await third.sees(/Allow read_file\(path: a\.txt\)\? \[yes\/no\/edit\/always\] $/)
    third.types('y\r')
    await third.sees(/First secret\.[\s\S]*> $/)
    third.types('/exit\r')
    expect(await third.code).toBe(0)
    const { stdout } = await statewire(['runs', '--db', 'chats.db', '--json'], { cwd })
    expect(stdout.match(/"status":"complete"/g)).toHaveLength(1)
  })

  it('continues an answer that was being given when it was killed', async () => {
    const cwd = await folder()
    const [slow, fast] = [await askSimulator(500), await askSimulator()]
    const first = new Terminal(['chat', ...slow, '--db', 'chats.db'], { cwd })
    await first.sees(/> $/)
    first.types('Count to 300\r')
    await first.sees(/1 2 3 4/)
    await first.kill()
    const second = new Terminal(['chat', ...fast, '--db', 'chats.db', '--continue'], { cwd })
    await second.sees(/Continues: Count to 300[\s\S]*1 2 3 4[\s\S]*298 299 300[\s\S]*> $/)
    second.types(ctrlD)
    expect(await second.code).toBe(0)
  })

  it('ends a running answer with Ctrl-C, and the conversation goes on', async () => {
    const cwd = await folder()
    const chat = new Terminal(['chat', ...(await askSimulator(100)), '--db', 'chats.db'], { cwd })
    await chat.sees(/> $/)
    chat.types('Count to 500\r')
    await chat.sees(/1 2 3 4/)
    chat.types(ctrlC)
    await chat.sees(/aborted[\s\S]*> $/)
    chat.types('My name is Ada\r')
    await chat.sees(/fits “My name is Ada”\.[\s\S]*> $/)
    chat.types(ctrlC)
    expect(await chat.code).toBe(0)
    const { stdout } = await statewire(['runs', '--db', 'chats.db'], { cwd })
    expect(stdout).toMatch(/complete[\s\S]*aborted/)
  })

  it('takes a question back that is answered elsewhere', async () => {
    const cwd = await folder()
    await writeFile(join(cwd, 'a.txt'), 'First secret.')
    const chat = new Terminal(['chat', ...(await askSimulator()), '--db', 'chats.db'], { cwd })
    await chat.sees(/> $/)
    chat.types('Read a.txt\r')
    await chat.sees(/Allow read_file\(path: a\.txt\)\? \[yes\/no\/edit\/always\] $/)
    const { stdout } = await statewire(['runs', '--db', 'chats.db', '--json'], { cwd })
    const approved = await statewire(['runs', 'approve', '--db', 'chats.db', JSON.parse(stdout).id], { cwd })
    expect(approved).toEqual({ code: 0, stdout: 'approved: read_file(path: a.txt)\n', stderr: '' })
    await chat.sees(/First secret\.[\s\S]*> $/)
    chat.types(ctrlD)
    expect(await chat.code).toBe(0)
  })

  it('asks before it deletes runs', async () => {
    const { cwd, runs } = await owning(['Hello.'])
    await (await runs.start('janitor', 'Hi', { id: 'job' })).result
    const no = new Terminal(['runs', 'prune', '--older-than', '0m'], { cwd })
    await no.sees(/Delete all runs that are over and did not change for 0m\? \[y\/N\] $/)
    no.types('\r')
    await no.sees(/Nothing was deleted\./)
    expect([await no.code, (await runs.list()).length]).toEqual([130, 1])
    const yes = new Terminal(['runs', 'prune', '--older-than', '0m'], { cwd })
    await yes.sees(/\[y\/N\] $/)
    yes.types('y\r')
    await yes.sees(/1 deleted/)
    expect([await yes.code, (await runs.list()).length]).toEqual([0, 0])
  })
})
