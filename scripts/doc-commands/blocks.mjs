// Shell blocks of a page, and their commands.

/** `reason`: why it is not run here, as its fence says. `isSession`: only lines behind `$ ` are commands. */
export function blocksOf(page) {
  return [...page.matchAll(/^ *```(sh|bash|shell|console)([^\n]*)\n([\s\S]*?)^ *```/gm)].map(match => {
    const [, language, info = '', text = ''] = match
    const line = page.slice(0, match.index).split('\n').length
    const [, reason] = /^ not run: (.{3,})$/.exec(info) ?? []
    if (info.trim() !== '' && reason === undefined)
      throw new Error(`line ${line}: expected "not run: REASON" behind the fence, found "${info.trim()}"`)
    return { line, text, reason, isSession: language === 'console' || /^ *\$ /m.test(text) }
  })
}

/** Command lines, those that are continued as one, without comments. */
export function commandsOf(text, isSession) {
  const lines = text.replaceAll(/\\\n/g, ' ').split('\n')
  const commands = isSession ? lines.filter(line => /^ *\$ /.test(line)).map(line => line.replace(/^ *\$ /, '')) : lines
  return commands.map(line => line.replace(/(^|\s)#.*/, '').trim()).filter(line => line !== '')
}
