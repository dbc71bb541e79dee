import { DOG, expect, includes, isDog, jsonLines, streamed } from '../stage.mjs'

const EXEC = ['exec', '--skip-git-repo-check', '--sandbox', 'danger-full-access']

export const codex = {
  name: 'Codex CLI',
  protocol: 'responses',
  source: { npm: '@openai/codex', version: '0.169.0' },
  command: folder => [process.execPath, `${folder}/node_modules/@openai/codex/bin/codex.js`],
  configure: ({ origin, key }) => ({
    files: {
      '.codex/config.toml': [
        'model_provider = "gateway"',
        '[model_providers.gateway]',
        'name = "gateway"',
        `base_url = "${origin}/v1"`,
        'env_key = "GATEWAY_KEY"',
        '',
      ].join('\n'),
    },
    environment: { GATEWAY_KEY: key },
  }),
  example: 'codex exec -m sim-text "Say hello"',
  quiet: {},
  version: ['--version'],
  capabilities: {
    async text({ run }, model) {
      includes(await run([...EXEC, '-m', model, 'Say hello']), 'You said: "Say hello"')
    },
    async stream({ run }, model) {
      const seen = await run([...EXEC, '--json', '-m', model, 'Say hello'])
      streamed(seen)
      expect(
        jsonLines(seen).some(({ item }) => item?.type === 'agent_message'),
        'has no message',
        seen,
      )
    },
    async tools({ run }, model) {
      const seen = await run([...EXEC, '--json', '-m', model, 'Use exec_command with cmd="cat note.txt"'])
      const items = jsonLines(seen).flatMap(({ item }) => (item === undefined ? [] : [item]))
      const ran = items.findLast(({ type }) => type === 'command_execution')
      expect(ran?.exit_code === 0 && items.at(-1).text?.includes(ran.aggregated_output.trim()), 'has no result', seen)
    },
    /** Tools of a group: the program finds the tool that is called, and refuses an agent that there is not. */
    async groups({ run }, model) {
      includes(
        await run([...EXEC, '-m', model, 'Use multi_agent_v1__wait_agent']),
        'The tool answered: "invalid agent id',
      )
    },
    async structured({ run, write }, model) {
      write('dog.json', JSON.stringify(DOG))
      const seen = await run([...EXEC, '-m', model, '--output-schema', 'dog.json', 'Invent a dog'])
      isDog(jsonLines(seen).at(-1), seen)
    },
  },
}
