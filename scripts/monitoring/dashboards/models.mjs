import { bars, line, variable } from '../panels.mjs'
import { FAILED, GEN_AI, MODEL, p, share } from '../queries.mjs'

export const models = {
  uid: 'model-gateway-models',
  title: 'Model gateway: models',
  description: 'How fast models answer, how often they fail, and what is used of them.',
  variables: [variable('model', 'gateway_requests_total', 'model', 'Model')],
  rows: [
    {
      title: 'Traffic',
      panels: [
        line('Requests by model', 'Requests each second, by the model as the configuration calls it.', 'reqps', [
          [`sum by (model) (rate(gateway_requests_total{@${MODEL}}[@]))`, '{{model}}'],
        ]),
        line(
          'Errors by model',
          'Share of requests for a model that ended with an error of an upstream or of the gateway.',
          'percentunit',
          [[share('gateway_requests_total', 'model', `${MODEL},${FAILED}`, MODEL), '{{model}}']],
          { max: 1 },
        ),
        line(
          'Duration of attempts, p95',
          'Time of one attempt at an upstream, waiting for a connection included.',
          's',
          [
            [
              p(0.95, 'gen_ai_client_operation_duration_seconds', ['gen_ai_request_model'], GEN_AI),
              '{{gen_ai_request_model}}',
            ],
          ],
        ),
      ],
    },
    {
      title: 'Speed',
      panels: [
        line(
          'Time to first token, p50',
          'Of streams: from sending the request to the first content of the answer.',
          's',
          [
            [
              p(0.5, 'gen_ai_server_time_to_first_token_seconds', ['gen_ai_request_model'], `${GEN_AI},stream="true"`),
              '{{gen_ai_request_model}}',
            ],
          ],
        ),
        line(
          'Time to first token, p95',
          'Of streams: from sending the request to the first content of the answer.',
          's',
          [
            [
              p(0.95, 'gen_ai_server_time_to_first_token_seconds', ['gen_ai_request_model'], `${GEN_AI},stream="true"`),
              '{{gen_ai_request_model}}',
            ],
          ],
        ),
        line('Time for each output token, p50', 'Of streams that ended well, for each token after the first.', 's', [
          [
            p(0.5, 'gen_ai_server_time_per_output_token_seconds', ['gen_ai_request_model'], GEN_AI),
            '{{gen_ai_request_model}}',
          ],
        ]),
      ],
    },
    {
      title: 'Use',
      panels: [
        line('Input tokens', 'Input tokens each second, as upstreams report them.', 'suffix: tokens/s', [
          [
            `sum by (gen_ai_request_model) (rate(gen_ai_client_token_usage_sum{@${GEN_AI},gen_ai_token_type="input"}[@]))`,
            '{{gen_ai_request_model}}',
          ],
        ]),
        line('Output tokens', 'Output tokens each second, as upstreams report them.', 'suffix: tokens/s', [
          [
            `sum by (gen_ai_request_model) (rate(gen_ai_client_token_usage_sum{@${GEN_AI},gen_ai_token_type="output"}[@]))`,
            '{{gen_ai_request_model}}',
          ],
        ]),
        bars(
          'Cost in the last 24 hours',
          'What each model cost, by the prices of the configuration.',
          'currencyUSD',
          `sum by (model) (increase(gateway_cost_usd_total{@${MODEL}}[24h]))`,
          '{{model}}',
        ),
      ],
    },
    {
      title: 'Instead of the model that was asked for',
      panels: [
        line('Fallbacks', 'Attempts at another model each second, because the requested one failed.', 'ops', [
          [`sum by (model, fallback) (rate(gateway_fallbacks_total{@${MODEL}}[@]))`, '{{model}} → {{fallback}}'],
        ]),
        line(
          'Canaries',
          'First attempts each second at models that have a canary, by who got them and how they ended.',
          'ops',
          [
            [
              `sum by (model, part, outcome) (rate(gateway_canary_attempts_total{@${MODEL}}[@]))`,
              '{{model}}: {{part}} {{outcome}}',
            ],
          ],
        ),
        line('Canaries at rest', '1: the canary failed more often than the others, and gets no requests.', 'short', [
          [`max by (model, canary) (gateway_canary_resting{@${MODEL}})`, '{{model}} → {{canary}}'],
        ]),
        line('Copies for mirrors', 'Copies of requests each second. dropped: too many were under way.', 'ops', [
          [
            `sum by (model, mirror, outcome) (rate(gateway_mirror_copies_total{@${MODEL}}[@]))`,
            '{{model}} → {{mirror}}: {{outcome}}',
          ],
        ]),
        line('Copies under way', 'Copies of requests that have not ended.', 'short', [
          [`sum by (model, mirror) (gateway_mirror_copies_in_flight{@${MODEL}})`, '{{model}} → {{mirror}}'],
        ]),
        line('Answers against their schemas', 'Answers each second that were compared with a schema.', 'ops', [
          ['sum by (route, result) (rate(gateway_response_checks_total{@}[@]))', '{{route}}: {{result}}'],
        ]),
        line('Checks of your own', 'Requests each second that checks of your own were asked about.', 'ops', [
          ['sum by (check, result) (rate(gateway_checks_total{@}[@]))', '{{check}}: {{result}}'],
        ]),
        line(
          'Lost in translation',
          'Members of requests each second that the protocol of the upstream does not have.',
          'ops',
          [[`sum by (model, member) (rate(gateway_translation_losses_total{@${MODEL}}[@]))`, '{{model}}: {{member}}']],
        ),
      ],
    },
  ],
}
