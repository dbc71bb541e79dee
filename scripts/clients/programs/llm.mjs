import { DOG, includes, isDog, jsonLines, streamed } from '../stage.mjs'

export const llm = {
  name: 'llm',
  protocol: 'chat',
  source: { pip: 'llm', version: '0.36' },
  command: () => ['python3', '-m', 'llm'],
  configure: ({ origin, key, models }) => {
    const more = 'api_key_name: gateway, supports_tools: true, supports_schema: true'
    const entry = model => `- { model_id: ${model}, model_name: ${model}, api_base: "${origin}/v1", ${more} }\n`
    return {
      files: {
        '.config/io.datasette.llm/extra-openai-models.yaml': models.map(entry).join(''),
        '.config/io.datasette.llm/keys.json': JSON.stringify({ gateway: key }),
      },
      environment: {},
    }
  },
  example: 'llm -m sim-text "Say hello"',
  quiet: {},
  version: ['--version'],
  capabilities: {
    async text({ run }, model) {
      includes(await run(['-m', model, '--no-stream', 'Say hello']), 'You said: "Say hello"')
    },
    async stream({ run }, model) {
      streamed(await run(['-m', model, 'Say hello']))
    },
    async tools({ run }, model) {
      includes(await run(['-m', model, '-T', 'llm_version', 'Use llm_version']), 'The tool answered: "0.36"')
    },
    async structured({ run }, model) {
      const seen = await run(['-m', model, '--schema', JSON.stringify(DOG), 'Invent a dog'])
      isDog(jsonLines(seen).at(-1), seen)
    },
  },
}
