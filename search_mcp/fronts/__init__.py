"""How clients reach us: standard input and output."""
