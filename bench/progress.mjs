const { stderr } = process

/** What is being done: one line that is written over on a terminal, plain lines elsewhere. */
export const progress = (total) => {
  let done = 0
  return {
    step(what) {
      done += 1
      const line = `[${done}/${total}] ${what}`
      if (stderr.isTTY) stderr.write(`\r\x1b[2K${line.slice(0, stderr.columns - 1)}`)
      else stderr.write(`${line}\n`)
    },
    end() {
      if (stderr.isTTY) stderr.write('\r\x1b[2K')
    },
  }
}
