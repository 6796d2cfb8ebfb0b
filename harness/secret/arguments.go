package secret

import (
	"regexp"
	"slices"
	"strings"

	"vramsoak/parser/lex"
)

// Arguments returns a copy of a command with its secrets masked, and reports whether the command
// has secrets. It never masks an argument that contains {} or {list}, where the path of a file
// goes.
func (n Names) Arguments(argv []string) (masked []string, found bool) {
	masked = slices.Clone(argv)
	ofTools := toolSecrets(argv)
	for i := 1; i < len(argv); i++ {
		text, found := ofTools[i]
		switch {
		case n.awaits(argv[i-1], argv[i]) && !strings.HasPrefix(argv[i], "--") && !marked(argv[i]):
			masked[i] = mask
		case found:
			masked[i] = text
		default:
			masked[i] = n.Text(argv[i])
		}
	}
	return masked, !slices.Equal(masked, argv)
}

// awaits reports whether an argument names a secret whose value is the next argument.
func (n Names) awaits(arg, next string) bool {
	return strings.HasPrefix(arg, "-") && flagName().MatchString(arg) && n.holds(arg, next)
}

func marked(arg string) bool {
	return strings.Contains(arg, "{}") ||
		strings.Contains(arg, "{list}")
}

// authSchemes are the words that may come between "Authorization:" and the token.
const authSchemes = `bearer|basic|token|apikey|api-key|key|digest|negotiate|ntlm`

var (
	flagName = lex.Expression(`^--?[A-Za-z][A-Za-z0-9_.-]*$`)
	// value ends at a blank, unless it is quoted.
	value      = `("(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'&;,}]+)`
	assignment = lex.Expression(`((?:--?)?[A-Za-z][A-Za-z0-9_.-]*)(["']?\s*[=:]\s*)` + value)
	// schemes and scheme: in "Authorization: Bearer TOKEN" the token follows the scheme.
	schemes = lex.Expression(`(?i)^(?:` + authSchemes + `)$`)
	scheme  = lex.Expression(`(?i)\b(bearer|basic)(\s+)([A-Za-z0-9._~+/=-]{8,})`)
	// header finds tokens after "Authorization:". It also finds tokens that are too short for scheme,
	// because the name of the header marks them.
	header = lex.Expression(`(?i)(authorization["']?\s*[=:]\s*["']?(?:` + authSchemes + `)\s+)` +
		`([^\s"'&;,{}]+)`)
	flagged = lex.Expression(`(--?[A-Za-z][A-Za-z0-9_.-]*)(\s+)` + value)
)

// Text masks the secrets in a command line or in one argument, which may be a script, as in bash
// -c. It masks values after the name of a secret, passwords in addresses, and tokens of a known
// form.
func (n Names) Text(arg string) string {
	if name, value, ok := strings.Cut(arg, "="); ok && plainName().MatchString(name) {
		switch {
		case n.holds(name, value) && (value == "" || marked(value)):
			return arg
		case n.holds(name, value):
			return name + "=" + mask
		case n.Secret(name):
			return arg
		case name == shellFolder: // in a script a command may follow
			end := len(arg)
			if i := strings.IndexAny(arg, " \t\n;"); i >= 0 {
				end = i
			}
			return arg[:end] + n.Text(arg[end:])
		case IsDSN(value):
			return name + "=" + MaskDSN(value)
		}
	}
	if IsDSN(arg) {
		return MaskDSN(arg)
	}
	arg = toolText(arg)
	arg = header().ReplaceAllString(arg, "${1}"+mask)
	arg = scheme().ReplaceAllString(arg, "${1}${2}"+mask)
	arg = n.replace(assignment(), arg)
	arg = n.replace(flagged(), arg)
	return forms().ReplaceAllString(Credentials(arg), mask)
}

var plainName = lex.Expression(`^-{0,2}[A-Za-z][A-Za-z0-9_.-]*$`)

// replace masks the third group of each match of an expression, the value, if the first group is
// the name of a secret. Otherwise it searches the value for further secrets: in
// https://host/?token=SECRET, "https" looks like a name and the rest like its value.
func (n Names) replace(of *regexp.Regexp, text string) string {
	return of.ReplaceAllStringFunc(text, func(match string) string {
		part := of.FindStringSubmatch(match)
		held := strings.Trim(part[3], `"'`)
		switch {
		case !n.holds(part[1], held):
			return part[1] + part[2] + n.replace(of, part[3])
		case held == "" || marked(held) || schemes().MatchString(held):
			return match
		}
		return part[1] + part[2] + mask
	})
}

// forms matches tokens in the forms that their issuers document: Hugging Face, OpenAI and
// Anthropic, GitHub, GitLab, Slack, AWS, Google, npm, Docker, PyPI, JSON Web Tokens.
var forms = lex.Expression(`\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|` +
	`gh[pousr]_[A-Za-z0-9]{16,}|` +
	`github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}|xox[abeprs]-[A-Za-z0-9-]{10,}|` +
	`A[KS]IA[0-9A-Z]{16}|AIza[A-Za-z0-9_-]{30,}|npm_[A-Za-z0-9]{30,}|` +
	`dckr_pat_[A-Za-z0-9_-]{16,}|pypi-[A-Za-z0-9_-]{16,}|` +
	`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+)`)
