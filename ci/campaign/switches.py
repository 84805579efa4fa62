"""Puts changes of the code that cargo-mutants proposes behind switches, so that one build holds all of them.

A change with number N becomes `if crate::mutated(N) { changed } else { as it is }`. The variable MUTATED of a test's environment turns one
on. What cannot be written so (in constants, or where types would not fit) does not compile; the caller takes these out by the places that
the compiler names.
"""

import tree_sitter
import tree_sitter_rust

PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_rust.language()))
# Operators of one chain are changed as text, so what is read together is copied together.
CHAIN = ("binary_expression", "unary_expression")

# Tests count allocations, and what reads variables allocates.
FUNCTION = """
/// Whether this change is turned on.
#[doc(hidden)]
#[allow(missing_docs)]
pub(crate) fn mutated(number: u32) -> bool {
    static ON: std::sync::LazyLock<u32> = std::sync::LazyLock::new(|| {
        let name = b"MUTATED=";
        let (mut bytes, mut matched, mut number) = ([0; 256], Some(0), 0);
        let mut variables = std::fs::File::open("/proc/self/environ").expect("the variables");
        loop {
            let read = std::io::Read::read(&mut variables, &mut bytes).expect("the variables");
            for byte in &bytes[..read] {
                match matched {
                    Some(len) if len == name.len() && *byte == 0 => return number,
                    _ if *byte == 0 => matched = Some(0),
                    Some(len) if len == name.len() => number = number * 10 + u32::from(*byte - b'0'),
                    Some(len) if name[len] == *byte => matched = Some(len + 1),
                    _ => matched = None,
                }
            }
            if read == 0 {
                return 0;
            }
        }
    });
    *ON == number
}
"""


class Source:
    """One file, and the edits that it gets: from which byte to which, and what stands there instead."""

    def __init__(self, text):
        self.text = text.encode()
        self.starts = [0]
        for line in self.text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.root = PARSER.parse(self.text).root_node
        self.edits = []
        # Where each change stands in the result, in bytes.
        self.places = {}

    def at(self, place):
        """The byte of a line and column, which count characters from one."""
        first = self.starts[place["line"] - 1]
        line = self.text[first : self.starts[place["line"]]].decode()
        return first + len(line[: place["column"] - 1].encode())

    def put(self, number, change):
        """Puts one change behind a switch; false if its place is taken. Raises `ValueError` if it cannot be written so."""
        begin, end, new = self.switch(number, change)
        if any(begin < after and before < end for before, after, _, _ in self.edits):
            return False
        self.edits.append((begin, end, number, new))
        return True

    def switch(self, number, change):
        """What is replaced, and by what."""
        begin, end = self.at(change["span"]["start"]), self.at(change["span"]["end"])
        new, on = change["replacement"], f"crate::mutated({number})"
        node = self.root.descendant_for_byte_range(begin, end)
        match change["genre"]:
            case "FnValue" if "impl " not in change["function"]["return_type"]:
                return begin, begin, f"if {on} {{ return {new}; }} "
            case "MatchArmGuard":
                return begin, end, f"(if {on} {{ {new} }} else {{ {self.between(begin, end)} }})"
            case "MatchArm":
                pattern = ancestor(node, "match_arm").child_by_field_name("pattern")
                guard = pattern.child_by_field_name("condition")
                if guard is None:
                    return pattern.end_byte, pattern.end_byte, f" if !{on}"
                first, last = guard.start_byte, guard.end_byte
                return first, last, f"!{on} && ({self.between(first, last)})"
            case "BinaryOperator" | "UnaryOperator":
                node = ancestor(node, *CHAIN, "compound_assignment_expr")
                while node.parent.type in CHAIN:
                    node = node.parent
                first, last = node.start_byte, node.end_byte
                changed = self.between(first, begin) + new + self.between(end, last)
                return first, last, f"(if {on} {{ {changed} }} else {{ {self.between(first, last)} }})"
        raise ValueError(change["genre"])

    def between(self, begin, end):
        return self.text[begin:end].decode()

    def result(self):
        text, at = b"", 0
        # Of edits that begin at one byte, what is inserted stands before what is replaced.
        for begin, end, number, new in sorted(self.edits):
            text += self.text[at:begin]
            self.places[number] = len(text), len(text) + len(new.encode())
            text, at = text + new.encode(), end
        return (text + self.text[at:]).decode()


def ancestor(node, *kinds):
    while node.type not in kinds:
        node = node.parent
        if node is None or node.type in ("let_chain", "block"):
            raise ValueError(f"not in {kinds}")
    return node
